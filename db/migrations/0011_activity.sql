CREATE TABLE `activity` (
	`id` text NOT NULL,
	`key_id` text NOT NULL,
	`at` integer NOT NULL,
	`surface` text NOT NULL,
	`action` text NOT NULL,
	`code` text,
	`message` text,
	`duration_ms` integer NOT NULL,
	`client` text,
	`host` text
);
--> statement-breakpoint
CREATE UNIQUE INDEX `activity_key` ON `activity` (`key_id`,`at`,`id`);