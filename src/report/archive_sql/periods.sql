select {keys}, metric, period,
  count(valid) as n,
  count(case when valid >= 1 then 1 end) as active,
  sum(cast(floor(good) as {bigint})) as whole,
  sum(cast(floor((good - floor(good)) * 1099511627776 + 0.5) as {bigint})) as part,
  min(valid) as low,
  max(valid) as high,
  {not_a_number} as not_a_number,
  {negative} as negative,
  {over_100} as over_100,
  {duplicate} as duplicate,
  case when sum(slot) <> {bit_or}(slot) then 1 else 0 end as crowded
from (
  select {keys}, metric, period, copies, fault,
    case when fault = 0 then value end as valid,
    case when fault = 0 then value else 0 end as good,
    case when fault = 0 then cast(power(2, floor((second - period) / 5)) as {bigint}) end as slot
  from (
    select {keys}, metric, second, value, copies,
      cast(floor(second / 300) as {bigint}) * 300 as period,
      case
        when not (value < most) or value <= -3.4028235677973366e38 then 1
        when value <= -1e-300 then 2
        when value > 100 and metric in ('gpu_utilization', 'gpu_power_utilization', 'cpu_utilization') then 3
        else 0
      end as fault
    from (
      select {columns},
        {metric} as metric,
        {second} as second,
        {value} as value,
        {copies} as copies,
        {most} as most
      from {points}
      where {where}
    ) as raw
  ) as judged
) as cleaned
group by {keys}, metric, period
