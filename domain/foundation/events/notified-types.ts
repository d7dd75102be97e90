import type { EventType } from './catalogue.ts';

const notified = 'notified';
const silent = 'silent';

/**
 * Whether events of a type get a fan-out. Recipients and timing are not the log's concern: the rules stand in
 * domain/operations/notifications, one for each `notified` type.
 */
export const reachOfTypes = {
  'space.created': silent,
  'space.updated': silent,
  'space.deleted': notified,
  'space.models_updated': silent,
  'space.governance_updated': silent,
  'space.observability_updated': silent,
  'space.member_added': notified,
  'space.member_removed': notified,
  'space.member_role_changed': notified,
  'space.invite_created': notified,
  'space.invite_accepted': notified,
  'space.invite_declined': notified,
  'space.invite_revoked': silent,
  'space.invite_expired': silent,
  'space.project_created': silent,
  'space.project_updated': silent,
  'space.project_deleted': notified,
  'space.project_member_added': notified,
  'space.project_member_removed': silent,
  'space.project_role_changed': notified,
  'space.thread_created': silent,
  'space.thread_archived': silent,
  'space.thread_deleted': silent,
  'space.response_completed': notified,
  'space.response_incomplete': silent,
  'space.response_failed': notified,
  'space.response_cancelled': silent,
  'space.response_deleted': silent,
  'space.tool_executed': silent,
  'space.tool_blocked': silent,
  'space.tool_outcome_unknown': silent,
  'space.mcp_server_added': silent,
  'space.mcp_server_updated': silent,
  'space.mcp_server_removed': silent,
  'space.mcp_server_connected': silent,
  'space.mcp_server_failed': notified,
  'space.mcp_auth_required': notified,
  'space.mcp_tools_updated': silent,
  'space.mcp_tools_changed': notified,
  'space.limit_reached': notified,
  'space.response_restarted': silent,
  'space.erased': silent,
  'space.project_erased': silent,
  'collection.created': silent,
  'collection.updated': silent,
  'collection.deleted': notified,
  'collection.documents_added': silent,
  'collection.documents_deleted': silent,
  'collection.connector_created': silent,
  'collection.connector_updated': silent,
  'collection.connector_paused': silent,
  'collection.connector_resumed': silent,
  'collection.connector_auth_required': notified,
  'collection.connector_suspended': notified,
  'collection.connector_deleted': silent,
  'collection.sync_started': silent,
  'collection.sync_completed': notified,
  'collection.sync_completed_with_errors': silent,
  'collection.sync_failed': silent,
  'collection.sync_cancelled': silent,
  'collection.sync_failing': notified,
  'collection.deletion_guard_triggered': notified,
  'collection.documents_retried': silent,
  'collection.erased': silent,
  'security.login_succeeded': notified,
  'security.login_failed': silent,
  'security.logout': silent,
  'security.session_revoked': notified,
  'security.refresh_reuse_detected': notified,
  'security.permission_denied': notified,
  'security.role_created': silent,
  'security.role_updated': silent,
  'security.role_deleted': silent,
  'security.role_assigned': notified,
  'security.role_unassigned': silent,
  'security.principal_created': silent,
  'security.principal_updated': silent,
  'security.principal_deleted': silent,
  'security.principal_erased': silent,
  'security.api_key_created': notified,
  'security.api_key_revoked': silent,
  'security.credential_created': 'silent',
  'security.credential_updated': 'silent',
  'security.credential_rotated': 'silent',
  'security.credential_deleted': 'silent',
  'security.identity_provider_changed': silent,
  'security.identity_provider_unconfirmed': notified,
  'security.mcp_auth_started': silent,
  'security.mcp_auth_granted': silent,
  'security.mcp_auth_failed': silent,
  'security.mcp_auth_revoked': silent,
  'security.pii_detected': silent,
  'security.content_blocked': silent,
  'security.events_exported': silent,
  'system.tenant_created': silent,
  'system.tenant_updated': silent,
  'system.tenant_suspended': silent,
  'system.tenant_resumed': notified,
  'system.tenant_deletion_requested': notified,
  'system.tenant_deletion_imminent': notified,
  'system.tenant_deletion_cancelled': notified,
  'system.tenant_deletion_started': silent,
  'system.tenant_deletion_failed': notified,
  'system.tenant_deletion_completed': notified,
  'system.model_added': silent,
  'system.model_updated': silent,
  'system.model_removed': notified,
  'system.skill_version_published': silent,
  'system.skill_version_deprecated': notified,
  'system.skill_changed': silent,
  'system.limit_reached': notified,
  'space.tool_outcome_learned': silent,
} as const satisfies Record<EventType, 'notified' | 'silent'>;

type Reach = typeof reachOfTypes;
/** The types of events that users may be notified of. */
export type NotifiedType = { [T in EventType]: Reach[T] extends 'notified' ? T : never }[EventType];

export function isNotified(type: EventType): type is NotifiedType {
  return reachOfTypes[type] === notified;
}

/**
 * Types that a caller can cause at will. Their fan-out waits this many seconds for further events of the same actor,
 * which get no fan-out of their own meanwhile.
 */
const coalescedSeconds: ReadonlyMap<EventType, number> = new Map<NotifiedType, number>([
  ['security.permission_denied', 60],
]);

/** How long a fan-out of this type waits for further events of its actor; null: each event has its own fan-out. */
export function coalescingOf(type: EventType): number | null {
  return coalescedSeconds.get(type) ?? null;
}
