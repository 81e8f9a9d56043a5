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
          and ({is_hour} or {is_other_hour})
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
      case when {is_hour} or {is_other_hour} then 'Hrs' else t.pricing_unit end as unit,
      case when {is_other_hour} and not {is_hour} then t.consumed_quantity
        else t.pricing_quantity end as quantity,
      t.list_price as list_cost,
      t.contracted_price as contracted_cost,
      t.effective_price as effective_cost
