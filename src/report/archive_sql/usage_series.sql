select {machine_out}, {metric} as metric, {gpu_out} as gpu, {statistic} as statistic,
  {source} as source, {joined_by} as joined_by,
  cast(case when g.n > 0 then 0 else 1 end as {bigint}) as is_empty,
  {n} as n,
  {period_seconds} as period_seconds,
  {min_value} as {min},
  {max_value} as {max},
  {sum_value} as {sum},
  {n_active} as n_active,
  {first_value} as {first},
  {last_value} as {last},
  cast(g.not_a_number as {bigint}) as not_a_number,
  cast(g.negative as {bigint}) as negative,
  cast(g.over_100 as {bigint}) as over_100,
  cast(g.duplicate as {bigint}) as duplicate,
  cast(0 as {bigint}) as future,
  {dt} as dt
from (
  select {machine}, p.gpu as gpu, {day} as day, count(p.value) as n,{figures}
    sum(p.not_a_number) as not_a_number, sum(p.negative) as negative,
    sum(p.over_100) as over_100, sum(p.duplicate) as duplicate
  from (
    select {machine}, p.gpu as gpu, p.period as period,
      case when p.n > 0 then cast(cast({value} as {real}) as double) end as value,
      p.not_a_number as not_a_number, p.negative as negative,
      p.over_100 as over_100, p.duplicate as duplicate
    from {periods} as p
    where p.metric = {metric}
  ) as p
  group by {by_machine}, p.gpu, {day}
) as g
