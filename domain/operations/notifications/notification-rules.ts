import type { Permission } from '#domain/foundation/access/permissions.ts';
import type { LoggedEvent } from '#domain/foundation/events/logged-event.ts';
import type { NotifiedType } from '#domain/foundation/events/notified-types.ts';
import { own } from '#domain/foundation/kernel/own.ts';

/** The recipients of an event's notifications. Only users among them are notified. */
export type Audience =
  /** The principal in this member of the metadata; without it, the resource itself if it is a principal. */
  | { kind: 'principal'; member: string }
  /** The event's actor. */
  | { kind: 'actor' }
  /** The requester of the event's response. */
  | { kind: 'requester' }
  /** The user with the address that the event's invite was sent to, if there is one. */
  | { kind: 'invited' }
  /** The principal that connected the event's tool server. */
  | { kind: 'connector_of_server' }
  | { kind: 'space_members' }
  /** Members who may change the event's space. */
  | { kind: 'space_admins' }
  /** The same for every space that allows the event's model, or whose searches or vectors are by it. */
  | { kind: 'admins_of_spaces_with_model' }
  /** Principals that used the event's skill in the 30 days before it. */
  | { kind: 'skill_users' }
  /** Principals that may change the tenant. */
  | { kind: 'tenant_admins' }
  /** Principals that may have the tenant deleted. */
  | { kind: 'tenant_owners' };

export interface NotificationRule {
  audience: readonly [Audience, ...Audience[]];
  /**
   * The permission that a recipient needs in the event's space or project; without it, the event concerns the
   * recipient alone.
   */
  readable?: Permission;
  /** For account security: the actor is notified too, because another person may have acted as it. */
  notifiesActor?: true;
  /** The period within which one event notifies, as part of a key. */
  once?: (event: LoggedEvent) => string;
  /** Notifies after `count` events of one actor within `withinSeconds`, and then once per `oncePerSeconds`. */
  threshold?: { count: number; withinSeconds: number; oncePerSeconds: number };
  /** One line; `space` is the name of the event's space. */
  title: (event: LoggedEvent, space: string) => string;
  /** One more sentence. */
  body?: (event: LoggedEvent) => string;
}

const affected: Audience = { kind: 'principal', member: 'principal_id' };
/**
 * For events that need no permission but name the space in the title: a former member must not learn its current
 * name.
 */
const namingSpace: Permission = 'spaces.read';
const spaceAdmins: Audience = { kind: 'space_admins' };
const tenantAdmins: Audience = { kind: 'tenant_admins' };
const tenantOwners: Audience = { kind: 'tenant_owners' };

const text = ({ metadata }: LoggedEvent, member: string): string => {
  const value = own(metadata, member);
  return typeof value === 'string' || typeof value === 'number' ? String(value) : '';
};

/** The space that a path to the event's resource needs beside its own id. */
const placeOf = (event: LoggedEvent): string => `space ${text(event, 'space_id')}`;
const collectionOf = (event: LoggedEvent): string =>
  `collection ${text(event, 'collection_id')}, ${placeOf(event)}`;

const aboutServer = (title: (space: string) => string): NotificationRule => ({
  audience: [spaceAdmins],
  readable: 'mcp_servers.read',
  title: (_event: LoggedEvent, space: string) => title(space),
  body: (event) => `It is the tool server ${text(event, 'slug')} of ${placeOf(event)}.`,
});

const aboutConnector = (title: (space: string) => string): NotificationRule => ({
  audience: [{ kind: 'principal', member: 'connector_principal_id' }, spaceAdmins],
  readable: 'connectors.read',
  title: (_event, space) => title(space),
  body: (event) => `It is a connector (${text(event, 'provider_slug')}) of ${collectionOf(event)}.`,
});

const limitReached = (audience: Audience, title: string): NotificationRule => ({
  audience: [audience],
  // The actor that reached the limit may be the administrator.
  notifiesActor: true,
  once: (event) => `${event.resource.id}/${text(event, 'limit')}/${text(event, 'period') || dayOf(event)}`,
  title: () => title,
  body: (event) =>
    text(event, 'limit') === 'active_responses'
      ? `It may have ${text(event, 'value')} responses running at once; more were refused.`
      : '',
});

const dayOf = ({ createdAt }: LoggedEvent): string => createdAt.toISOString().slice(0, 10);

/**
 * The single table of notification rules, one for each event type that has a fan-out. An event whose producer sets
 * `AuditEvent.notify` to false, such as a sign-in from a known device, has no fan-out and does not reach this table.
 */
export const notificationRules: Readonly<Record<NotifiedType, NotificationRule>> = {
  'space.member_added': {
    audience: [affected],
    readable: 'spaces.read',
    title: (_event, space) => `You are now a member of ${space}`,
  },
  'space.member_removed': {
    audience: [affected],
    title: (_event, space) => `You are no longer a member of ${space}`,
  },
  'space.member_role_changed': {
    audience: [affected],
    readable: 'spaces.read',
    title: (_event, space) => `Your role in ${space} has changed`,
  },
  'space.project_member_added': {
    audience: [affected],
    readable: 'projects.read',
    title: (_event, space) => `You are now a member of a project of ${space}`,
  },
  'space.project_role_changed': {
    audience: [affected],
    readable: 'projects.read',
    title: (_event, space) => `Your role in a project of ${space} has changed`,
  },
  'space.invite_created': {
    audience: [{ kind: 'invited' }],
    title: (_event, space) => `You are invited to ${space}`,
  },
  'space.invite_accepted': {
    audience: [{ kind: 'principal', member: 'invited_by' }],
    readable: 'invites.read',
    title: (_event, space) => `Your invitation to ${space} was accepted`,
  },
  'space.invite_declined': {
    audience: [{ kind: 'principal', member: 'invited_by' }],
    readable: 'invites.read',
    title: (_event, space) => `Your invitation to ${space} was declined`,
  },
  'space.project_deleted': {
    audience: [{ kind: 'space_members' }],
    readable: 'projects.read',
    title: (_event, space) => `A project of ${space} was deleted`,
    body: () => 'Its threads stay where they are.',
  },
  'space.deleted': {
    audience: [{ kind: 'space_members' }],
    // The space is out of sight by now; its deletion has its name.
    title: (event, space) => {
      const name = text(event, 'name');
      return `${name === '' ? `${space.charAt(0).toUpperCase()}${space.slice(1)}` : `The space ${name}`} was deleted`;
    },
  },
  'space.response_completed': {
    audience: [{ kind: 'requester' }],
    readable: namingSpace,
    title: (_event, space) => `Your response in ${space} is complete`,
    body: (event) => `It is of ${placeOf(event)}.`,
  },
  'space.response_failed': {
    audience: [{ kind: 'requester' }],
    readable: namingSpace,
    title: (_event, space) => `Your response in ${space} has failed`,
    body: (event) => `The reason is ${text(event, 'reason') || 'unknown'}. It is of ${placeOf(event)}.`,
  },
  'space.mcp_auth_required': {
    ...aboutServer((space) => `A tool server of ${space} wants to be signed in to again`),
    audience: [{ kind: 'connector_of_server' }, spaceAdmins],
  },
  'space.mcp_tools_changed': {
    ...aboutServer((space) => `Tools of ${space} have changed and are withheld`),
    body: (event) =>
      `Save the enabled tools of ${text(event, 'slug')} in ${placeOf(event)} again to approve what they are now.`,
  },
  'space.mcp_server_failed': aboutServer((space) => `A tool server of ${space} does not answer`),
  'space.limit_reached': limitReached(spaceAdmins, 'A space has reached a limit'),
  'collection.deleted': {
    audience: [spaceAdmins],
    readable: 'collections.read',
    title: (_event, space) => `A collection of ${space} was deleted`,
    body: (event) => `It held ${text(event, 'documents') || 'no'} documents.`,
  },
  'collection.connector_auth_required': aboutConnector(
    (space) => `A connector of ${space} wants to be signed in to again`,
  ),
  'collection.sync_failing': aboutConnector((space) => `A connector of ${space} keeps failing`),
  'collection.connector_suspended': aboutConnector((space) => `A connector of ${space} was suspended`),
  'collection.deletion_guard_triggered': {
    ...aboutConnector((space) => `A connector of ${space} holds back many deletions`),
    body: (event) =>
      `${text(event, 'deletes_held')} documents of the connector (${text(event, 'provider_slug')}) of ${collectionOf(event)} are missing at the source, or cannot be read there. A run that confirms the deletions applies them.`,
  },
  'collection.sync_completed': aboutConnector(
    (space) => `A connector of ${space} has synchronised for the first time`,
  ),
  'security.login_succeeded': {
    audience: [{ kind: 'actor' }],
    notifiesActor: true,
    title: () => 'You signed in from a new device',
  },
  'security.refresh_reuse_detected': {
    audience: [affected],
    notifiesActor: true,
    title: () => 'A session of yours was ended because its token was used twice',
  },
  'security.session_revoked': {
    audience: [affected],
    notifiesActor: true,
    title: () => 'A session of yours was ended',
  },
  'security.api_key_created': {
    audience: [affected],
    notifiesActor: true,
    title: () => 'An API key was created for you',
  },
  'security.role_assigned': {
    audience: [affected],
    notifiesActor: true,
    title: () => 'You were given a role',
    body: (event) => (text(event, 'role') === '' ? '' : `The role is ${text(event, 'role')}.`),
  },
  'security.permission_denied': {
    audience: [tenantAdmins],
    threshold: { count: 10, withinSeconds: 600, oncePerSeconds: 3_600 },
    title: () => 'A principal was refused many times',
    body: () => 'It was refused ten times within ten minutes.',
  },
  'security.identity_provider_unconfirmed': {
    audience: [tenantAdmins],
    title: () => 'An identity provider admits no new users until it is confirmed',
    body: (event) =>
      `Check the settings of ${text(event, 'slug')} and save them: the principal that did so last no longer may.`,
  },
  'system.tenant_deletion_requested': {
    audience: [tenantOwners],
    // Another person may have acted as it.
    notifiesActor: true,
    title: () => 'Your organisation is to be deleted',
    body: (event) => `The erasure begins at ${text(event, 'purge_after')}; until then it can be cancelled.`,
  },
  'system.tenant_deletion_imminent': {
    audience: [tenantOwners],
    title: () => 'Your organisation will be deleted within a day',
    body: (event) => `The erasure begins at ${text(event, 'purge_after')}; until then it can be cancelled.`,
  },
  'system.tenant_deletion_failed': {
    audience: [tenantAdmins],
    title: () => 'The deletion of a tenant cannot go on',
    body: (event) => `Its step ${text(event, 'step')} fails: ${text(event, 'failure')}.`,
  },
  'system.tenant_deletion_completed': {
    audience: [tenantAdmins],
    title: () => 'A tenant was deleted',
  },
  'system.tenant_deletion_cancelled': {
    audience: [tenantAdmins],
    title: () => 'The deletion of your organisation was cancelled',
  },
  'system.tenant_resumed': { audience: [tenantAdmins], title: () => 'Your organisation is active again' },
  'system.skill_version_deprecated': {
    audience: [{ kind: 'skill_users' }, { kind: 'principal', member: 'author_id' }],
    readable: 'skills.read',
    title: () => 'A version of a skill was deprecated',
  },
  'system.model_removed': {
    audience: [{ kind: 'admins_of_spaces_with_model' }],
    title: (event) => {
      const named = text(event, 'alias') || 'of your space';
      switch (text(event, 'kind')) {
        case 'embedding':
          return `The embedding model ${named} can no longer be chosen`;
        case 'reranking':
          return `The reranking model ${named} can no longer be used`;
        default:
          return `The model ${named} can no longer be used`;
      }
    },
    body: (event) =>
      text(event, 'kind') === 'embedding' ? 'Spaces that use it go on until they choose another one.' : '',
  },
  'system.limit_reached': limitReached(tenantAdmins, 'Your organisation has reached a limit'),
};
