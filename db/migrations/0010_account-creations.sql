CREATE TABLE `account_creations` (
	`seq` integer PRIMARY KEY NOT NULL,
	`origin` text NOT NULL,
	`created_at` integer NOT NULL
);
--> statement-breakpoint
CREATE INDEX `account_creations_origin` ON `account_creations` (`origin`,`created_at`);