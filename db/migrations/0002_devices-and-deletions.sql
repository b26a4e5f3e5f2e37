CREATE TABLE `devices` (
	`account_id` text NOT NULL,
	`id` text NOT NULL,
	`platform` text NOT NULL,
	`model` text NOT NULL,
	`os_version` text NOT NULL,
	`app_version` text NOT NULL,
	`apns_environment` text NOT NULL,
	`apns_token` text,
	`push_to_start_token` text,
	`widget_push_token` text,
	`updated_at` integer NOT NULL,
	PRIMARY KEY(`account_id`, `id`)
);
--> statement-breakpoint
CREATE UNIQUE INDEX `devices_apns` ON `devices` (`apns_token`) WHERE apns_token is not null;--> statement-breakpoint
CREATE INDEX `accounts_deleted` ON `accounts` (`deleted_at`) WHERE deleted_at is not null;--> statement-breakpoint
CREATE INDEX `keys_deleted` ON `keys` (`deleted_at`) WHERE deleted_at is not null;