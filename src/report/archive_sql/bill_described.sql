          when r.usage_type = '' and (r.service like '%EC2%'
              or r.service like '%Elastic Compute Cloud%' or r.service like '%SageMaker%')
            and r.description like '% %' and {type} <> r.description
            then {type}
