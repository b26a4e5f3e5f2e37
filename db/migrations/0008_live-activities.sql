CREATE TABLE `live_activities` (
	`account_id` text NOT NULL,
	`device_id` text NOT NULL,
	`task_id` text NOT NULL,
	`key_id` text NOT NULL,
	`push_token` text NOT NULL,
	`created_at` integer NOT NULL,
	`updated_at` integer NOT NULL,
	PRIMARY KEY(`account_id`, `device_id`, `task_id`)
);
--> statement-breakpoint
CREATE INDEX `live_activities_task` ON `live_activities` (`task_id`);--> statement-breakpoint
CREATE INDEX `live_activities_key` ON `live_activities` (`key_id`);