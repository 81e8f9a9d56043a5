select {machine_out}, {metric} as metric, {source} as source,
  cast(g.period as {bigint}) as period,
  cast(1 as {bigint}) as n,
  cast(0 as {bigint}) as {sum},
  {no_number} as {max},
  cast(0 as {bigint}) as n_max,
  cast(0 as {bigint}) as works,
  {dt} as dt
from (
  select {machine}, p.period as period, {day} as day
  from {periods} as p
  where p.metric = {metric} and p.n > 0 and p.high >= {least}
  group by {by_machine}, p.period, {day}
) as g
