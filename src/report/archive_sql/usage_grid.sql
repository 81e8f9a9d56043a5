select {machine_out}, {metric} as metric, {source} as source,
  cast(g.period as {bigint}) as period,
  cast(g.n as {bigint}) as n,
  cast(g.total as {bigint}) as {sum},
  cast(g.high as {bigint}) as {max},
  cast(g.n_max as {bigint}) as n_max,
  cast(g.works as {bigint}) as works,
  {dt} as dt
from (
  select {machine}, p.period as period, {day} as day,
    count(*) as n, sum(p.mean) as total, max(p.high) as high, count(p.gpu) as n_max,
    max(case when p.mean >= 500 then 1 else 0 end) as works
  from (
    select {machine}, p.gpu as gpu, p.period as period,
      cast(floor(cast(cast({mean} as {real}) as double) * 100 + 0.5) as {bigint}) as mean,
      cast(floor(cast(cast(p.high as {real}) as double) * 100 + 0.5) as {bigint}) as high
    from {periods} as p
    where p.metric = {metric} and p.n > 0
  ) as p
  group by {by_machine}, p.period, {day}
) as g
