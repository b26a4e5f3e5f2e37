/** What is known of the automatic backups of a store. */

/** When backups are made and how the last one went; the same in every process that shares the store and the folder. */
export interface BackupStatus {
  /** Seconds between two backups. */
  readonly every: number;
  /** The newest good backup, which was made at `at` (epoch seconds); null if there is none. */
  readonly made: { readonly at: number; readonly bytes: number } | null;
  /** Since when backups fail (epoch seconds), and why, in words; null while they work. */
  readonly failing: { readonly since: number; readonly reason: string } | null;
}
