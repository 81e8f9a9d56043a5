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
      case when {is_hour} then 'Hrs' else t.unit end as unit,
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
          then {zero}
        when t.line_type = 'DiscountedUsage' then t.reserved_cost
        when t.line_type = 'RIFee' then t.unused_upfront + t.unused_recurring
        else t.billed
      end as effective_cost
