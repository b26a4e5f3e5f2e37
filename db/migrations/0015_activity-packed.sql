UPDATE `activity_blocks` SET `entries` = (
	SELECT json_group_array(json_array(
		CAST(round(value ->> 'at' * 1000) AS integer), value ->> 'surface', value ->> 'action',
		value ->> 'duration_ms', value ->> 'code', value ->> 'message', value ->> 'host', value -> 'client'))
	FROM json_each(`entries`));
