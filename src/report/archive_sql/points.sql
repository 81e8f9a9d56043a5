-- rows
        select {account} as account, {region} as region, {instance} as instance,
          {gpu} as gpu,
          {name} as name,
          {metric} as metric,
          {second} as second,
          {value} as value,
          ({placed}) as is_placed,
          ({wanted}) as is_wanted
        from {archive}

-- every point
select p.account, p.region, p.instance, p.gpu, p.metric, p.second, p.value as value, 1 as copies
      from (
{rows}
      ) as p
      where p.is_wanted

-- distinct points
select p.account, p.region, p.instance, p.gpu, p.metric, p.second, max(p.value) as value, count(*) as copies
      from (
{rows}
      ) as p
      where p.is_wanted
      group by p.account, p.region, p.instance, p.gpu, p.metric, p.second

-- periods
select account, region, instance, gpu, metric, period,
  count(valid) as n,
  count(case when valid >= 1 then 1 end) as active,
  sum(cast(floor(good) as bigint)) as whole,
  sum(cast(floor((good - floor(good)) * 1099511627776 + 0.5) as bigint)) as part,
  min(valid) as low,
  max(valid) as high,
  coalesce(sum(case when fault = 1 then copies end), 0) as not_a_number,
  coalesce(sum(case when fault = 2 then copies end), 0) as negative,
  coalesce(sum(case when fault = 3 then copies end), 0) as over_100,
  coalesce(sum(case when fault = 0 then copies - 1 end), 0) as duplicate,
  case when sum(slot) <> {bit_or}(slot) then 1 else 0 end as crowded
from (
  select account, region, instance, gpu, metric, period, copies, fault,
    case when fault = 0 then value end as valid,
    case when fault = 0 then value else 0 end as good,
    case when fault = 0 then cast(power(2, floor((second - period) / 5)) as bigint) end as slot
  from (
    select account, region, instance, gpu, metric, second, value, copies,
      cast(floor(second / 300) as bigint) * 300 as period,
      case
        when not (value < case
            when metric in ('gpu_utilization', 'gpu_power_utilization', 'gpu_sm_activity',
                'cpu_utilization')
              then 3.4028235677973366e38
            when metric in ('network_in', 'network_out') then 1e15
            else 2147483632e0 end)
          or value <= -3.4028235677973366e38 then 1
        when value <= -1e-300 then 2
        when value > 100
          and metric in ('gpu_utilization', 'gpu_power_utilization', 'gpu_sm_activity',
            'cpu_utilization') then 3
        else 0
      end as fault
    from (
      {copied}
    ) as raw
  ) as checked
) as cleaned
group by account, region, instance, gpu, metric, period
