-- hours
select {period} as period,
  b.account as account, b.region as region, b.resource as resource,
  b.instance_type as instance_type,
  cast(b.line_hour as bigint) as {q}hour{q},
  cast(b.seconds as bigint) as seconds,
  b.kind as kind, b.purchase_option as purchase_option,
  b.unit as unit, b.currency as currency,
  cast(b.n as bigint) as n,
  cast(b.quantity as decimal(38, 12)) as quantity,
  cast(b.n_quantity as bigint) as n_quantity,
  cast(b.list_cost as decimal(38, 12)) as list_cost,
  cast(b.n_list as bigint) as n_list,
  cast(b.contracted_cost as decimal(38, 12)) as contracted_cost,
  cast(b.n_contracted as bigint) as n_contracted,
  cast(b.effective_cost as decimal(38, 12)) as effective_cost,
  cast(b.n_effective as bigint) as n_effective,
  cast(b.billed_cost as decimal(38, 12)) as billed_cost,
  cast(b.n_billed as bigint) as n_billed
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
      cast(floor(t.period_start / 86400) as bigint) as first_day,
      cast(floor(t.line_start / 3600) as bigint) * 3600 as line_hour,
      cast(floor(t.line_end - t.line_start + 0.5) as bigint) as seconds,
      t.currency as currency, t.billed as billed_cost,
{line}
    from (
      select r.*,
        case when r.whole_resource like 'arn:%' then {bare_id} else r.whole_resource end
          as resource,
        case
          when r.named_type <> '' then r.named_type
          when r.usage_type like '%Usage:%.%' or r.usage_type like '%Unused%:%.%'
            or r.usage_type like '%:ml.%'
            then substring(r.usage_type, position(':' in r.usage_type) + 1)
{otherwise}
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

-- cur otherwise
          else ''

-- focus otherwise
          when r.usage_type = '' and (r.service like '%EC2%'
              or r.service like '%Elastic Compute Cloud%' or r.service like '%SageMaker%')
            and r.description like '% %' and {described_type} <> r.description
            then {described_type}
          else ''

-- cur line
      case
        when t.line_type = 'SavingsPlanNegation' then 'negation'
        when t.line_type in ('SavingsPlanRecurringFee', 'SavingsPlanUpfrontFee', 'RIFee')
          or (t.line_type = 'Fee' and t.reservation <> '') then 'commitment'
        when t.line_type = 'Refund' then 'refund'
        when t.line_type = 'Credit' then 'credit'
        when t.line_type = 'Tax' then 'tax'
        when t.line_type like '%Discount' then 'discount'
        when t.product like '%Support%' then 'support'
        when t.product not in ('', 'AmazonEC2', 'AmazonSageMaker')
          and (t.usage_type like '%Box%' or t.usage_type like '%Ded%'
            or t.usage_type like '%Spot%' or t.usage_type like '%:ml.%') then 'other'
{usage_kind}
        else 'other'
      end as kind,
      case
        when t.savings_plan <> '' or t.line_type like 'SavingsPlan%' then 'savings-plan'
        when t.reservation <> '' or t.line_type = 'DiscountedUsage' then 'reserved'
        when t.usage_type like '%SpotUsage%' or t.usage_type like '%SpotTrain:%' then 'spot'
        else 'on-demand'
      end as purchase_option,
      case when t.unit in ({hour_names}) then 'Hrs' else t.unit end as unit,
      t.quantity as quantity,
      case when t.line_type in ('Usage', 'DiscountedUsage', 'SavingsPlanCoveredUsage')
        then t.public_cost end as list_cost,
      case
        when t.line_type = 'Usage' then coalesce(t.net, t.billed)
        when t.line_type = 'SavingsPlanCoveredUsage' then t.billed
      end as contracted_cost,
      case
        when t.line_type = 'SavingsPlanCoveredUsage' then t.plan_cost
        when t.line_type = 'SavingsPlanRecurringFee' then t.plan_committed - t.plan_used
        when t.line_type in ('SavingsPlanNegation', 'SavingsPlanUpfrontFee')
          or (t.line_type = 'Fee' and t.reservation <> '')
          or (t.line_type = 'Refund' and t.product like '%SavingsPlans%'
            and t.description like 'Refund for one-time fee for Savings Plan ID%')
          then cast(0 as decimal(28, 12))
        when t.line_type = 'DiscountedUsage' then t.reserved_cost
        when t.line_type = 'RIFee' then t.unused_upfront + t.unused_recurring
        else t.billed
      end as effective_cost

-- focus line
      case
        when t.category = 'Tax' then 'tax'
        when t.category = 'Credit' then 'credit'
        when t.category = 'Adjustment' then 'discount'
        when t.category = 'Purchase' and t.discount <> '' then 'commitment'
        when t.service like '%Support%' then 'support'
        when t.category = 'Purchase' then 'other'
        when t.discount_status = 'Unused' then 'commitment'
        when t.capacity_status in ('Unused', 'unused', 'UNUSED') then 'unused-reservation'
        when t.service not like '%EC2%' and t.service not like '%Elastic Compute Cloud%'
          and t.service not like '%SageMaker%'
          and (t.usage_type like '%Box%' or t.usage_type like '%Ded%'
            or t.usage_type like '%Spot%' or t.usage_type like '%:ml.%') then 'other'
{usage_kind}
        when t.usage_type <> '' then 'other'
        when (t.service like '%EC2%' or t.service like '%Elastic Compute Cloud%'
            or t.service like '%SageMaker%' or t.service like '%Virtual Machines%'
            or t.service like '%Compute Engine%' or t.service like '%On-premises%')
          and t.service not like '%icense%' and t.meter not like '%icense%'
          and (t.pricing_unit in ({hour_names}) or t.consumed_unit in ({hour_names}))
          and (t.instance_type <> '' or t.resource like 'i-%' or t.resource like '%:instance/%'
            or t.resource like '%/virtualMachines/%' or t.resource like '%/instances/%')
          then 'instance'
        when t.resource like 'vol-%' or t.resource like '%/vol-%'
          or t.resource_type like '%olume%' or t.resource_type like '%isk%' then 'volume'
        when t.description like '%IPv4%' or t.description like '%lastic IP%' then 'address'
        when t.description like '%ata transfer%' or t.description like '%ata Transfer%'
          then 'transfer'
        else 'other'
      end as kind,
      case
        when t.discount_type like '%aving%' or t.discount_category = 'Spend'
          then 'savings-plan'
        when t.discount_type like '%eserv%' or t.discount_category = 'Usage' then 'reserved'
        when t.pricing = 'Dynamic' then 'spot'
        when t.pricing = 'Standard' then 'on-demand'
        else ''
      end as purchase_option,
      case when t.pricing_unit in ({hour_names}) or t.consumed_unit in ({hour_names}) then 'Hrs' else t.pricing_unit end as unit,
      case when t.consumed_unit in ({hour_names}) and not t.pricing_unit in ({hour_names}) then t.consumed_quantity
        else t.pricing_quantity end as quantity,
      t.list_price as list_cost,
      t.contracted_price as contracted_cost,
      t.effective_price as effective_cost

-- usage_kind
        when t.usage_type like '%UnusedBox%' or t.usage_type like '%UnusedDed%'
          then 'unused-reservation'
        when t.usage_type like '%BoxUsage%' or t.usage_type like '%DedicatedUsage%'
          or t.usage_type like '%SpotUsage%' or t.usage_type like '%SpotTrain:%'
          or (t.usage_type like '%:ml.%' and (t.usage_type like '%Host:%'
            or t.usage_type like '%Train:%' or t.usage_type like '%Notebk:%'
            or t.usage_type like '%Studio:%' or t.usage_type like '%Processing:%'
            or t.usage_type like '%Tsform:%' or t.usage_type like '%BatchTransform:%'
            or t.usage_type like '%Cluster:%'))
          then case when t.capacity_status in ('Unused', 'unused', 'UNUSED')
            then 'unused-reservation' else 'instance' end
        when t.usage_type like '%EBS:Volume%' then 'volume'
        when t.usage_type like '%PublicIPv4%' or t.usage_type like '%ElasticIP%' then 'address'
        when t.usage_type like '%DataTransfer-%' or t.usage_type like '%-In-Bytes%'
          or t.usage_type like '%-Out-Bytes%' then 'transfer'

-- is_usage
l.kind in ('instance', 'unused-reservation', 'volume', 'address', 'transfer', 'other')

-- cur counted
t.operation not in ('EKSPod-EC2', 'ECSTask-EC2')

-- focus counted
1 = 1

-- bare_id
regexp_replace(r.whole_resource, '^arn:[^:]*:(?:(?:ec2|savingsplans):[^:]*:[^:]*:(?:.*/)?|[^:]*:[^:]*:[^:]*:)', '')

-- described_type
regexp_replace(r.description, '^(?:.*?[ ,(])?((?:ml[.])?[a-z][a-z0-9-]*[.](?:nano|micro|small|medium|large|[0-9]*xlarge|metal[a-z0-9-]*))(?:[ ,.)].*)?$', '{group}')

-- hour_names
'h', 'hr', 'hrs', 'hour', 'hours', 'Hr', 'Hrs', 'Hour', 'Hours'

-- column of text
case when cast({column} as {text}) not in ({nothing}) then cast({column} as {text}) else '' end

-- no column of text
''

-- column of amount
cast({column} as {exact})

-- column of amount in text
cast(case when cast({column} as {text}) not in ('', {nothing}) then {column} end as {exact})

-- no column of amount
cast(null as {exact})

-- column of time
{seconds}

-- nothing
'NULL', 'null', 'Null', 'None'

-- exact
decimal(28, 12)
