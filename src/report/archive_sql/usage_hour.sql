select {machine_out}, {metric} as metric, {gpu_out} as gpu,
  cast(g.hour as {bigint}) as {hour},
  cast(g.n as {bigint}) as n,
  cast(floor((cast(g.whole as double) + cast(g.part as double) / 1099511627776) * 1000 + 0.5) as {bigint}) as {sum},
  g.low as {min},
  g.high as {max},
  {n_active} as n_active,
  {dt} as dt
from (
  select {machine}, p.gpu as gpu, {day} as day,
    cast(floor(cast(p.period as double) / 3600) as {bigint}) * 3600 as hour,
    sum(p.n) as n, sum(p.whole) as whole, sum(p.part) as part,
    min(p.low) as low, max(p.high) as high, sum(p.active) as active
  from {periods} as p
  where p.metric = {metric} and p.n > 0
  group by {by_machine}, p.gpu, {day}, cast(floor(cast(p.period as double) / 3600) as {bigint}) * 3600
) as g
