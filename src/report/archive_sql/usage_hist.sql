select {machine_out}, {metric} as metric, {gpu_out} as gpu, 'average' as statistic,
  cast(g.bucket as {bigint}) as bucket,
  cast(g.n as {bigint}) as n,
  {dt} as dt
from (
  select {machine}, p.gpu as gpu, p.day as day, p.bucket as bucket, count(*) as n
  from (
    select {machine}, p.gpu as gpu, p.day as day, {bucket} as bucket
    from (
      select {machine}, p.gpu as gpu, {day} as day,
        floor(cast(cast({mean} as {real}) as double) * {steps} + 0.5) as step
      from {periods} as p
      where p.metric = {metric} and p.n > 0
    ) as p
  ) as p
  group by {by_machine}, p.gpu, p.day, p.bucket
) as g
