import type { EntityManager } from '@mikro-orm/postgresql';
import type { Permission } from './permissions.ts';

/** The acting principal, proved by a credential or rebuilt from ids in a durable message. */
export interface Identity {
  tenantId: string;
  principalId: string;
  /** The key that was used, null when no key was. */
  apiKeyId: string | null;
  /** Upper bound of the key's permissions; null: all permissions of its principal. */
  keyPermissions: readonly string[] | null;
  /** The session whose access token was used; absent for a key. */
  sessionId?: string | null;
}

/** How the request reached the platform, for the event log. */
export interface Origin {
  via: 'api' | 'workflow' | 'schedule' | 'cli';
  requestId: string | null;
  /**
   * The client's address, sealed under the actor's key in the transaction of the event; null in the log of another
   * tenant, which has no key of the actor.
   */
  sealedIp?: (em: EntityManager, tenantId: string) => Promise<string | null>;
}

/** An identity with its current permissions in its tenant and (when `spaceId` is set) in that space. */
export interface Caller extends Identity {
  origin: Origin;
  principalType: 'user' | 'service_account' | 'agent';
  /** Whether it belongs to the reserved platform tenant. */
  isPlatform: boolean;
  spaceId: string | null;
  /** Whether it has a role in that space. Without one, tenant-wide roles may still apply there. */
  isMember: boolean;
  granted: ReadonlySet<Permission>;
}

/** The principal that an event names as its author, with how the request reached the platform. */
export type Actor = Pick<Caller, 'tenantId' | 'principalId' | 'principalType' | 'origin'>;

/** The actor of an event before authentication. */
export interface Anonymous extends Pick<Caller, 'tenantId' | 'origin'> {
  principalId: null;
  principalType: 'anonymous';
}
