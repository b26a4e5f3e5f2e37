CREATE TABLE `idempotency` (
	`id` text PRIMARY KEY NOT NULL,
	`body` text NOT NULL,
	`resource_id` text NOT NULL,
	`account_id` text NOT NULL,
	`key_id` text,
	`created_at` integer NOT NULL
);
--> statement-breakpoint
CREATE INDEX `idempotency_account` ON `idempotency` (`account_id`);--> statement-breakpoint
CREATE INDEX `idempotency_key` ON `idempotency` (`key_id`);--> statement-breakpoint
CREATE INDEX `idempotency_old` ON `idempotency` (`created_at`);