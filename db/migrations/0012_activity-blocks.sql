CREATE TABLE `activity_blocks` (
	`id` text NOT NULL,
	`key_id` text NOT NULL,
	`at` integer NOT NULL,
	`size` integer NOT NULL,
	`entries` text NOT NULL
);
--> statement-breakpoint
CREATE UNIQUE INDEX `activity_blocks_key` ON `activity_blocks` (`key_id`,`at`,`id`);