CREATE TABLE `items` (
	`seq` integer PRIMARY KEY AUTOINCREMENT NOT NULL,
	`id` text NOT NULL,
	`key_id` text NOT NULL,
	`account_id` text NOT NULL,
	`type` text NOT NULL,
	`from_key_id` text,
	`from_label` text,
	`task_id` text,
	`question_id` text,
	`changes` text NOT NULL,
	`last_task` text,
	`text` text,
	`created_at` integer NOT NULL,
	`read_at` integer,
	`change_id` text NOT NULL
);
--> statement-breakpoint
CREATE UNIQUE INDEX `items_id` ON `items` (`id`);--> statement-breakpoint
CREATE INDEX `items_key` ON `items` (`key_id`,`seq`);--> statement-breakpoint
CREATE INDEX `items_unread` ON `items` (`key_id`,`seq`) WHERE read_at is null;--> statement-breakpoint
CREATE INDEX `items_mergeable` ON `items` (`task_id`) WHERE type = 'task.updated' and read_at is null;--> statement-breakpoint
CREATE INDEX `items_sent` ON `items` (`from_key_id`,`key_id`) WHERE from_key_id is not null and read_at is null;--> statement-breakpoint
CREATE INDEX `items_old` ON `items` (`read_at`) WHERE read_at is not null;--> statement-breakpoint
CREATE INDEX `items_old_unread` ON `items` (`created_at`) WHERE read_at is null;--> statement-breakpoint
ALTER TABLE `keys` ADD `unread` integer DEFAULT 0 NOT NULL;