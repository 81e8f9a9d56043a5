(
  select {machine}, p.gpu as gpu, p.metric as metric,
    cast(floor(cast(p.period as double) / 3600) as {bigint}) * 3600 as period,
    sum(p.n) as n, sum(p.whole) as whole, sum(p.part) as part, max(p.high) as high,
    sum(p.not_a_number) as not_a_number, sum(p.negative) as negative,
    sum(p.over_100) as over_100, sum(p.duplicate) as duplicate
  from {periods} as p
  where p.metric = {metric}
  group by {by_machine}, p.gpu, p.metric, cast(floor(cast(p.period as double) / 3600) as {bigint}) * 3600
)
