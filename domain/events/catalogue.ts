/** The closed vocabulary of audit events, `<category>.<action>`. Append-only once released. */
export const eventTypes = [
  'space.created',
  'space.updated',
  'space.deleted',
  'space.models_updated',
  'space.governance_updated',
  'space.observability_updated',
  'space.member_added',
  'space.member_removed',
  'space.member_role_changed',
  'space.invite_created',
  'space.invite_accepted',
  'space.invite_declined',
  'space.invite_revoked',
  'space.invite_expired',
  'space.project_created',
  'space.project_updated',
  'space.project_deleted',
  'space.project_member_added',
  'space.project_member_removed',
  'space.project_role_changed',
  'space.thread_created',
  'space.thread_archived',
  'space.thread_deleted',
  'space.response_completed',
  'space.response_incomplete',
  'space.response_failed',
  'space.response_cancelled',
  'space.response_deleted',
  'space.tool_executed',
  'space.tool_blocked',
  'space.tool_outcome_unknown',
  'space.mcp_server_added',
  'space.mcp_server_updated',
  'space.mcp_server_removed',
  'space.mcp_server_connected',
  'space.mcp_server_failed',
  'space.mcp_auth_required',
  'space.mcp_tools_updated',
  'space.mcp_tools_changed',
  'space.limit_reached',
  'space.response_restarted',
  'collection.created',
  'collection.updated',
  'collection.deleted',
  'collection.documents_added',
  'collection.documents_deleted',
  'collection.connector_created',
  'collection.connector_updated',
  'collection.connector_paused',
  'collection.connector_resumed',
  'collection.connector_auth_required',
  'collection.connector_suspended',
  'collection.connector_deleted',
  'collection.sync_started',
  'collection.sync_completed',
  'collection.sync_completed_with_errors',
  'collection.sync_failed',
  'collection.sync_cancelled',
  'collection.sync_failing',
  'collection.deletion_guard_triggered',
  'collection.documents_retried',
  'security.login_succeeded',
  'security.login_failed',
  'security.logout',
  'security.session_revoked',
  'security.refresh_reuse_detected',
  'security.permission_denied',
  'security.role_created',
  'security.role_updated',
  'security.role_deleted',
  'security.role_assigned',
  'security.role_unassigned',
  'security.principal_created',
  'security.principal_updated',
  'security.principal_deleted',
  'security.api_key_created',
  'security.api_key_revoked',
  'security.identity_provider_changed',
  'security.mcp_auth_started',
  'security.mcp_auth_granted',
  'security.mcp_auth_failed',
  'security.mcp_auth_revoked',
  'security.pii_detected',
  'security.content_blocked',
  'security.events_exported',
  'system.tenant_created',
  'system.tenant_updated',
  'system.tenant_suspended',
  'system.tenant_resumed',
  'system.tenant_deletion_requested',
  'system.tenant_deletion_cancelled',
  'system.tenant_deletion_started',
  'system.tenant_deletion_failed',
  'system.model_added',
  'system.model_updated',
  'system.model_removed',
  'system.skill_version_published',
  'system.skill_version_deprecated',
  'system.skill_changed',
  'system.limit_reached',
] as const;

export type EventType = (typeof eventTypes)[number];
export type EventCategory = 'space' | 'collection' | 'security' | 'system';

export type ResourceType =
  | 'tenant'
  | 'space'
  | 'project'
  | 'collection'
  | 'connector'
  | 'sync_run'
  | 'document'
  | 'thread'
  | 'response'
  | 'mcp_server'
  | 'skill'
  | 'skill_version'
  | 'role'
  | 'principal'
  | 'member'
  | 'invite'
  | 'api_key'
  | 'session'
  | 'model'
  | 'identity_provider';

export function categoryOf(type: EventType): EventCategory {
  return type.slice(0, type.indexOf('.')) as EventCategory;
}
