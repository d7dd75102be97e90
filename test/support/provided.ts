/** What the global setup hands to every test file; read it with `inject('postgres')`, `inject('temporal')`. */
export interface ProvidedPostgres {
  /** Of the superuser; its database `platform` is empty, work in databases of your own. */
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
    /** A file with the workflow code, which workers need not build again. */
    workflowBundle: string;
    /** The folder of this run's server logs; kept when something failed. */
    logFolder: string;
  }
}
