import type { EntityManager } from '@mikro-orm/postgresql';
import type { Permission } from './permissions.ts';

/** Who acts, proved by a credential or rebuilt from ids in a durable message. */
export interface Identity {
  tenantId: string;
  principalId: string;
  /** The key that was used, null when no key was. */
  apiKeyId: string | null;
  /** What the key may do at most; null: everything its principal may. */
  keyPermissions: readonly string[] | null;
  /** The session whose access token was used, none where it was a key. */
  sessionId?: string | null;
}

/** How the act reached us, for the event log. */
export interface Origin {
  via: 'api' | 'workflow' | 'schedule' | 'cli';
  requestId: string | null;
  /**
   * The client's address, sealed under the actor's key in the transaction of what is recorded; null in the log of
   * another tenant than the actor's own, where no key of theirs is.
   */
  sealedIp?: (em: EntityManager, tenantId: string) => Promise<string | null>;
}

/** An identity with what it may do now, in its tenant and (when `spaceId` is set) in that space. */
export interface Caller extends Identity {
  origin: Origin;
  principalType: 'user' | 'service_account' | 'agent';
  /** Of the reserved platform tenant. */
  isPlatform: boolean;
  spaceId: string | null;
  /** Whether it has a role in that space; without one, roles in the whole tenant may still reach into it. */
  isMember: boolean;
  granted: ReadonlySet<Permission>;
}

/** Whoever an event names as its actor, with how the act reached us. */
export type Actor = Pick<Caller, 'tenantId' | 'principalId' | 'principalType' | 'origin'>;

/** Where nobody has proved yet who they are. */
export interface Anonymous extends Pick<Caller, 'tenantId' | 'origin'> {
  principalId: null;
  principalType: 'anonymous';
}
