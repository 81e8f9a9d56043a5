-- usage_asked
select {machine}, {asked} as asked, cast(300 as bigint) as period_seconds, {dt} as dt
from (
  select p.account, p.region, p.instance, {day} as day
  from {periods} as p
  group by p.account, p.region, p.instance, {day}
) as g

-- usage_series: averages of five minutes
select {machine}, g.metric as metric, cast(g.gpu as bigint) as gpu, 'average' as statistic,
  {source} as source, 'instance-id' as joined_by,
  cast(case when g.n > 0 then 0 else 1 end as bigint) as is_empty,
  cast(case when g.n > 0 and g.metric <> 'gpu_power_utilization' then g.n end as bigint) as n,
  cast(case when g.n > 0 and g.metric <> 'gpu_power_utilization' then 300 end as bigint)
    as period_seconds,
  case when g.metric = 'gpu_memory_used' then {wide_low} end as {q}min{q},
  case when g.metric = 'gpu_memory_used' then {wide_high} end as {q}max{q},
  cast(null as bigint) as {q}sum{q},
  cast(null as bigint) as n_active,
  cast(null as bigint) as {q}first{q},
  cast(null as bigint) as {q}last{q},
  {dropped}
from (
  select p.account, p.region, p.instance, p.metric, p.gpu, {day} as day, count(p.value) as n,
    min(p.value) as low, max(p.value) as high, {drops}
  from (
    select p.*, case when p.n > 0 then cast(cast({mean} as {real}) as double) end as value
    from {periods} as p
    where p.metric in
      ('gpu_utilization', 'gpu_memory_used', 'gpu_power_utilization', 'gpu_sm_activity',
        'cpu_utilization')
  ) as p
  group by p.account, p.region, p.instance, p.metric, p.gpu, {day}
) as g

-- usage_series: maxima of five minutes
select {machine}, g.metric as metric, cast(g.gpu as bigint) as gpu, 'maximum' as statistic,
  {source} as source, 'instance-id' as joined_by,
  cast(case when g.n > 0 then 0 else 1 end as bigint) as is_empty,
  cast(case when g.n > 0 and g.metric in ('gpu_utilization', 'gpu_memory_used') then g.n end
    as bigint) as n,
  cast(case when g.n > 0 and g.metric in ('gpu_utilization', 'gpu_memory_used') then 300 end
    as bigint) as period_seconds,
  case when g.metric = 'gpu_memory_used' then {wide_low} end as {q}min{q},
  case when g.metric <> 'gpu_power_utilization' then {wide_high} end as {q}max{q},
  cast(null as bigint) as {q}sum{q},
  cast(case when g.n > 0 and g.metric = 'gpu_utilization' then g.active end as bigint)
    as n_active,
  cast(case when g.n > 0 and g.metric = 'gpu_utilization' then g.earliest end as bigint)
    as {q}first{q},
  cast(case when g.n > 0 and g.metric = 'gpu_utilization' then g.latest end as bigint)
    as {q}last{q},
  {dropped}
from (
  select p.account, p.region, p.instance, p.metric, p.gpu, {day} as day, count(p.value) as n,
    min(p.value) as low, max(p.value) as high,
    sum(case when p.value >= 1 then 1 else 0 end) as active,
    min(case when p.value is not null then p.period end) as earliest,
    max(case when p.value is not null then p.period end) as latest, {drops}
  from (
    select p.*, case when p.n > 0 then cast(cast(p.high as {real}) as double) end as value
    from {periods} as p
    where p.metric in ('gpu_utilization', 'gpu_memory_used', 'gpu_memory_total',
      'gpu_temperature', 'gpu_encoder_sessions', 'gpu_power_utilization')
  ) as p
  group by p.account, p.region, p.instance, p.metric, p.gpu, {day}
) as g

-- usage_series: hours
select {machine}, g.metric as metric, cast(g.gpu as bigint) as gpu,
  case when g.metric = 'gpu_power_draw' then 'average' else 'sum' end as statistic,
  {source} as source, 'instance-id' as joined_by,
  cast(case when g.n > 0 then 0 else 1 end as bigint) as is_empty,
  cast(case when g.n > 0 then g.n end as bigint) as n,
  cast(case when g.n > 0 and g.metric <> 'gpu_power_draw' then 3600 end as bigint)
    as period_seconds,
  cast(null as double) as {q}min{q},
  g.busiest as {q}max{q},
  cast(case when g.n > 0 then g.total end as bigint) as {q}sum{q},
  cast(null as bigint) as n_active,
  cast(null as bigint) as {q}first{q},
  cast(null as bigint) as {q}last{q},
  {dropped}
from (
  select p.account, p.region, p.instance, p.metric, p.gpu, {day} as day, count(p.value) as n,
    sum(cast(floor(case when p.metric = 'gpu_power_draw' then ({wide_value}) * 1000
      else p.value end + 0.5) as bigint)) as total,
    max(case when p.metric <> 'gpu_power_draw' then p.value * 8 / 3600 / 1e9 end) as busiest,
    {drops}
  from (
    select p.*, case when p.n > 0 then cast(cast(case when p.metric = 'gpu_power_draw'
      then {mean} else {total} end as {real}) as double) end as value
    from (
{hours}
    ) as p
    where p.metric in ('gpu_power_draw', 'network_in', 'network_out')
  ) as p
  group by p.account, p.region, p.instance, p.metric, p.gpu, {day}
) as g

-- usage_grid: utilization
select {machine}, g.metric as metric, {source} as source,
  cast(g.period as bigint) as period,
  cast(g.n as bigint) as n,
  cast(g.total as bigint) as {q}sum{q},
  cast(g.high as bigint) as {q}max{q},
  cast(g.n_max as bigint) as n_max,
  cast(g.works as bigint) as works,
  {dt} as dt
from (
  select p.account, p.region, p.instance, p.metric, p.period, {day} as day,
    count(*) as n, sum(p.mean) as total, max(p.high) as high, count(p.gpu) as n_max,
    max(case when p.mean >= 500 then 1 else 0 end) as works
  from (
    select p.account, p.region, p.instance, p.metric, p.gpu, p.period,
      cast(floor(cast(cast({mean} as {real}) as double) * 100 + 0.5) as bigint) as mean,
      cast(floor(cast(cast(p.high as {real}) as double) * 100 + 0.5) as bigint) as high
    from {periods} as p
    where p.metric in ('gpu_utilization', 'gpu_power_utilization') and p.n > 0
  ) as p
  group by p.account, p.region, p.instance, p.metric, p.period, {day}
) as g

-- usage_grid: marks
select {machine}, g.metric as metric, {source} as source,
  cast(g.period as bigint) as period,
  cast(1 as bigint) as n,
  cast(0 as bigint) as {q}sum{q},
  cast(null as bigint) as {q}max{q},
  cast(0 as bigint) as n_max,
  cast(0 as bigint) as works,
  {dt} as dt
from (
  select p.account, p.region, p.instance, p.metric, p.period, {day} as day
  from {periods} as p
  where p.n > 0 and (p.metric = 'cpu_utilization'
    or (p.metric = 'gpu_encoder_sessions' and p.high >= 1e-300))
  group by p.account, p.region, p.instance, p.metric, p.period, {day}
) as g

-- usage_hist: five minutes
select {machine}, g.metric as metric, cast(g.gpu as bigint) as gpu, 'average' as statistic,
  cast(g.bucket as bigint) as bucket,
  cast(g.n as bigint) as n,
  {dt} as dt
from (
  select p.account, p.region, p.instance, p.metric, p.gpu, p.day, p.bucket, count(*) as n
  from (
    select p.account, p.region, p.instance, p.metric, p.gpu, p.day,
      cast(case when p.metric <> 'gpu_memory_used' then p.step
        else {mebibytes} end as bigint) as bucket
    from (
      select p.account, p.region, p.instance, p.metric, p.gpu, {day} as day,
        floor(cast(cast({mean} as {real}) as double)
          * case when p.metric = 'gpu_memory_used' then 1 else 100 end + 0.5) as step
      from {periods} as p
      where p.metric in ('gpu_utilization', 'gpu_memory_used', 'gpu_sm_activity',
        'cpu_utilization') and p.n > 0
    ) as p
  ) as p
  group by p.account, p.region, p.instance, p.metric, p.gpu, p.day, p.bucket
) as g

-- usage_hist: hours of power
select {machine}, g.metric as metric, cast(g.gpu as bigint) as gpu, 'average' as statistic,
  cast(g.bucket as bigint) as bucket,
  cast(g.n as bigint) as n,
  {dt} as dt
from (
  select p.account, p.region, p.instance, p.metric, p.gpu, p.day, p.bucket, count(*) as n
  from (
    select p.account, p.region, p.instance, p.metric, p.gpu, p.day,
      cast({mebibytes} as bigint) as bucket
    from (
      select p.account, p.region, p.instance, p.metric, p.gpu, {day} as day,
        floor(cast(cast({mean} as {real}) as double) + 0.5) as step
      from (
{hours}
      ) as p
      where p.metric = 'gpu_power_draw' and p.n > 0
    ) as p
  ) as p
  group by p.account, p.region, p.instance, p.metric, p.gpu, p.day, p.bucket
) as g

-- usage_hour
select {machine}, g.metric as metric, cast(g.gpu as bigint) as gpu,
  cast(g.hour as bigint) as {q}hour{q},
  cast(g.n as bigint) as n,
  cast(floor((cast(g.whole as double) + cast(g.part as double) / 1099511627776) * 1000 + 0.5)
    as bigint) as {q}sum{q},
  g.low as {q}min{q},
  g.high as {q}max{q},
  cast(case when g.metric = 'gpu_utilization' then g.active end as bigint) as n_active,
  {dt} as dt
from (
  select p.account, p.region, p.instance, p.metric, p.gpu, {day} as day,
    {hour} as hour,
    sum(p.n) as n, sum(p.whole) as whole, sum(p.part) as part,
    min(p.low) as low, max(p.high) as high, sum(p.active) as active
  from {periods} as p
  where p.n > 0
  group by p.account, p.region, p.instance, p.metric, p.gpu, {day}, {hour}
) as g
