/**
 * Values that the global setup provides to every test file; read them with `inject('postgres')`,
 * `inject('temporal')`.
 */
export interface ProvidedPostgres {
  /** Of the superuser; its database `platform` is empty, tests use databases of their own. */
  adminUrl: string;
  /** Roles belong to the whole server, so a run has one password for both login roles. */
  rolePassword: string;
  /** A migrated database to copy; never connect to it. */
  templateDatabase: string;
}

export interface ProvidedTemporal {
  /** host:port of an in-memory server with the search attributes TenantId and SpaceId. */
  address: string;
  namespace: string;
}

declare module 'vitest' {
  export interface ProvidedContext {
    postgres: ProvidedPostgres;
    temporal: ProvidedTemporal;
    /** A file with the workflow code, so that workers need not build it again. */
    workflowBundle: string;
    /** The folder of this run's server logs; kept after a failure. */
    logFolder: string;
  }
}
