select {keys}, metric, period,
  sum(case when fault = 0 then 1 else 0 end) as n,
  sum(case when fault = 0 and value >= 1 then 1 else 0 end) as active,
  sum(cast(floor(good) as {bigint})) as whole,
  sum(cast(floor((good - floor(good)) * 1099511627776 + 0.5) as {bigint})) as part,
  min(case when fault = 0 then value end) as low,
  max(case when fault = 0 then value end) as high,
  sum(case when fault = 1 then copies else 0 end) as not_a_number,
  sum(case when fault = 2 then copies else 0 end) as negative,
  sum(case when fault = 3 then copies else 0 end) as over_100,
  sum(case when fault = 0 then copies - 1 else 0 end) as duplicate,
  case when sum(slot) <> {bit_or}(slot) then 1 else 0 end as crowded
from (
  select {keys}, metric, period, value, copies, fault,
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
