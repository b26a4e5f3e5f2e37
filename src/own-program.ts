/** The executable that this process runs from. `bun run build` replaces this module by one that names it. */

export interface OwnProgram {
  /** Path of the file. */
  readonly path: string;
  /** The platform as the archives of a release name it, such as `linux-x64`. */
  readonly platform: string;
}

/** Null for a process that runs from the sources. */
export const ownProgram: OwnProgram | null = null;
