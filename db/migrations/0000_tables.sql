CREATE TABLE `accounts` (
	`id` text PRIMARY KEY NOT NULL,
	`created_at` integer NOT NULL,
	`live_activities` integer NOT NULL,
	`token_digest` text NOT NULL,
	`change_id` text NOT NULL,
	`deleted_at` integer
);
--> statement-breakpoint
CREATE UNIQUE INDEX `accounts_token` ON `accounts` (`token_digest`);--> statement-breakpoint
CREATE TABLE `events` (
	`seq` integer PRIMARY KEY AUTOINCREMENT NOT NULL,
	`account_id` text NOT NULL,
	`subject` text NOT NULL,
	`name` text NOT NULL,
	`data` text NOT NULL,
	`created_at` integer NOT NULL
);
--> statement-breakpoint
CREATE TABLE `keys` (
	`id` text PRIMARY KEY NOT NULL,
	`account_id` text NOT NULL,
	`label` text NOT NULL,
	`prefix` text NOT NULL,
	`last4` text NOT NULL,
	`secret_digest` text NOT NULL,
	`created_at` integer NOT NULL,
	`last_used_at` integer,
	`last_client` text,
	`last_host` text,
	`tasks_todo` integer NOT NULL,
	`tasks_in_progress` integer NOT NULL,
	`tasks_done` integer NOT NULL,
	`tasks_cancelled` integer NOT NULL,
	`change_id` text NOT NULL,
	`deleted_at` integer
);
--> statement-breakpoint
CREATE UNIQUE INDEX `keys_secret` ON `keys` (`secret_digest`);--> statement-breakpoint
CREATE INDEX `keys_account` ON `keys` (`account_id`,`created_at`,`id`);--> statement-breakpoint
CREATE TABLE `questions` (
	`id` text PRIMARY KEY NOT NULL,
	`key_id` text NOT NULL,
	`account_id` text NOT NULL,
	`task_id` text,
	`prompt` text NOT NULL,
	`kind` text NOT NULL,
	`options` text NOT NULL,
	`status` text NOT NULL,
	`answer` text,
	`created_at` integer NOT NULL,
	`answered_at` integer,
	`expires_at` integer NOT NULL,
	`change_id` text NOT NULL
);
--> statement-breakpoint
CREATE INDEX `questions_key` ON `questions` (`key_id`,`status`,`created_at`,`id`);--> statement-breakpoint
CREATE INDEX `questions_account` ON `questions` (`account_id`,`status`,`created_at`,`id`,`key_id`);--> statement-breakpoint
CREATE INDEX `questions_task` ON `questions` (`task_id`,`status`) WHERE task_id is not null;--> statement-breakpoint
CREATE INDEX `questions_due` ON `questions` (`expires_at`) WHERE status = 'pending';--> statement-breakpoint
CREATE TABLE `tasks` (
	`id` text PRIMARY KEY NOT NULL,
	`key_id` text NOT NULL,
	`account_id` text NOT NULL,
	`title` text NOT NULL,
	`description` text NOT NULL,
	`status` text NOT NULL,
	`priority` text NOT NULL,
	`notify` integer NOT NULL,
	`progress` integer,
	`status_note` text,
	`source` text NOT NULL,
	`created_at` integer NOT NULL,
	`updated_at` integer NOT NULL,
	`completed_at` integer,
	`seen_at` integer,
	`host` text,
	`change_id` text NOT NULL
);
--> statement-breakpoint
CREATE INDEX `tasks_key` ON `tasks` (`key_id`,`status`,`updated_at`,`id`);--> statement-breakpoint
CREATE INDEX `tasks_account` ON `tasks` (`account_id`,`status`,`updated_at`,`id`,`key_id`);