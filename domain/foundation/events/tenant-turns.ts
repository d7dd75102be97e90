/** Work that goes through tenants in the order of their ids, and may be stopped between two of them. */
export interface TenantTurns {
  /** Begins with the tenants after this one. */
  after?: string | null;
  /** Checked after each tenant. */
  mayGoOn?: () => boolean;
  /** Reports a tenant whose turn is over: what was stopped goes on behind it. */
  reached?: (tenantId: string) => void;
}
