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
    l.resource as resource, l.instance_type as instance_type, l.line_hour as line_hour,
    l.seconds as seconds, l.kind as kind, l.purchase_option as purchase_option,
    l.unit as unit, l.currency as currency,
    count(*) as n,
    sum(l.quantity) as quantity, count(l.quantity) as n_quantity,
    sum(l.list_cost) as list_cost, count(l.list_cost) as n_list,
    sum(l.contracted_cost) as contracted_cost, count(l.contracted_cost) as n_contracted,
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
      select
        {columns}
      from {lines}
    ) as t
    where {counted}
  ) as l
  group by l.first_day, l.account, l.region, l.resource, l.instance_type, l.line_hour,
    l.seconds, l.kind, l.purchase_option, l.unit, l.currency
) as b
