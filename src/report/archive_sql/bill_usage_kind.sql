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
