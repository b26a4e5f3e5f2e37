INSERT INTO `activity_blocks` (`id`, `key_id`, `at`, `size`, `entries`)
SELECT `id`, `key_id`, `at`, 1, json_array(json_object(
	'id', `id`, 'at', `at` / 1000.0, 'surface', `surface`, 'action', `action`,
	'status', CASE WHEN `code` IS NULL THEN 'ok' ELSE 'error' END, 'code', `code`, 'message', `message`,
	'duration_ms', `duration_ms`, 'client', json(`client`), 'host', `host`))
FROM `activity`;
--> statement-breakpoint
DROP TABLE `activity`;
