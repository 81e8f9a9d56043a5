select {period} as period,
  b.account as account, b.region as region, b.resource as resource,
  b.instance_type as instance_type,
  cast(b.line_hour as {bigint}) as {hour},
  cast(b.seconds as {bigint}) as seconds,
  b.kind as kind, b.purchase_option as purchase_option,
  b.unit as unit, b.currency as currency,
  cast(b.n as {bigint}) as n,
  cast(b.quantity as {sum_type}) as quantity,
  cast(b.n_quantity as {bigint}) as n_quantity,
  cast(b.list_cost as {sum_type}) as list_cost,
  cast(b.n_list as {bigint}) as n_list,
  cast(b.contracted_cost as {sum_type}) as contracted_cost,
  cast(b.n_contracted as {bigint}) as n_contracted,
  cast(b.effective_cost as {sum_type}) as effective_cost,
  cast(b.n_effective as {bigint}) as n_effective,
  cast(b.billed_cost as {sum_type}) as billed_cost,
  cast(b.n_billed as {bigint}) as n_billed
from (
  select l.first_day as first_day, l.account as account, l.region as region,
    l.resource as resource,
    case when l.kind in ('instance', 'unused-reservation', 'commitment')
      then l.instance_type else '' end as instance_type,
    l.line_hour as line_hour,
    l.seconds as seconds, l.kind as kind, l.purchase_option as purchase_option,
    l.unit as unit, l.currency as currency,
    count(*) as n,
    sum(l.quantity) as quantity, count(l.quantity) as n_quantity,
    sum(case when {is_usage} then l.list_cost end) as list_cost,
    count(case when {is_usage} then l.list_cost end) as n_list,
    sum(case when {is_usage} then l.contracted_cost end) as contracted_cost,
    count(case when {is_usage} then l.contracted_cost end) as n_contracted,
    sum(l.effective_cost) as effective_cost, count(l.effective_cost) as n_effective,
    sum(l.billed_cost) as billed_cost, count(l.billed_cost) as n_billed
  from (
    select t.account as account, t.region as region, t.resource as resource,
      t.instance_type as instance_type,
      cast(floor(t.period_start / 86400) as {bigint}) as first_day,
      cast(floor(t.line_start / 3600) as {bigint}) * 3600 as line_hour,
      cast(floor(t.line_end - t.line_start + 0.5) as {bigint}) as seconds,
      t.currency as currency, t.billed as billed_cost,
{line}
    from (
      select r.*,
        case when r.whole_resource like 'arn:%' then {resource} else r.whole_resource end
          as resource,
        case
          when r.named_type <> '' then r.named_type
          when r.usage_type like '%Usage:%.%' or r.usage_type like '%Unused%:%.%'
            or r.usage_type like '%:ml.%'
            then substring(r.usage_type, position(':' in r.usage_type) + 1)
{described}          else ''
        end as instance_type
      from (
        select
        {columns}
        from {lines}
      ) as r
    ) as t
    where {counted}
  ) as l
  group by l.first_day, l.account, l.region, l.resource,
    case when l.kind in ('instance', 'unused-reservation', 'commitment')
      then l.instance_type else '' end,
    l.line_hour, l.seconds, l.kind, l.purchase_option, l.unit, l.currency
) as b
