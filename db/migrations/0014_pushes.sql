CREATE TABLE `push_records` (
	`seq` integer PRIMARY KEY AUTOINCREMENT NOT NULL,
	`apns_id` text NOT NULL,
	`account_id` text NOT NULL,
	`device_id` text NOT NULL,
	`key_id` text,
	`kind` text NOT NULL,
	`about` text NOT NULL,
	`environment` text NOT NULL,
	`outcome` text NOT NULL,
	`reason` text,
	`attempts` integer NOT NULL,
	`created_at` integer NOT NULL,
	`tried_at` integer,
	`done_at` integer NOT NULL
);
--> statement-breakpoint
CREATE INDEX `push_records_pace` ON `push_records` (`account_id`,`device_id`,`kind`,`about`,`tried_at`);--> statement-breakpoint
CREATE INDEX `push_records_key` ON `push_records` (`key_id`) WHERE key_id is not null;--> statement-breakpoint
CREATE INDEX `push_records_old` ON `push_records` (`done_at`);--> statement-breakpoint
CREATE TABLE `pushes` (
	`seq` integer PRIMARY KEY AUTOINCREMENT NOT NULL,
	`apns_id` text DEFAULT (lower(hex(randomblob(4)) || '-' || hex(randomblob(2)) || '-4' || substr(hex(randomblob(2)), 2) || '-a' || substr(hex(randomblob(2)), 2) || '-' || hex(randomblob(6)))) NOT NULL,
	`account_id` text NOT NULL,
	`device_id` text NOT NULL,
	`kind` text NOT NULL,
	`subject` text NOT NULL,
	`key_id` text,
	`task_id` text,
	`question_id` text,
	`environment` text NOT NULL,
	`token` text,
	`parts` text NOT NULL,
	`more` text,
	`urgency` integer NOT NULL,
	`due_at` integer NOT NULL,
	`expires_at` integer NOT NULL,
	`created_at` integer NOT NULL,
	`lease` text,
	`unclear` integer DEFAULT 0 NOT NULL,
	`attempts` integer DEFAULT 0 NOT NULL,
	`tried_at` integer
);
--> statement-breakpoint
CREATE UNIQUE INDEX `pushes_subject` ON `pushes` (`account_id`,`device_id`,`kind`,`subject`);--> statement-breakpoint
CREATE INDEX `pushes_due` ON `pushes` (`environment`,`urgency`,`due_at`);--> statement-breakpoint
CREATE INDEX `pushes_expiry` ON `pushes` (`expires_at`);--> statement-breakpoint
CREATE INDEX `pushes_token` ON `pushes` (`token`) WHERE token is not null;--> statement-breakpoint
ALTER TABLE `live_activities` ADD `ended_at` integer;--> statement-breakpoint
ALTER TABLE `live_activities` ADD `stamp` integer DEFAULT 0 NOT NULL;