/** The closed vocabulary of audit events, `<category>.<action>`. Append-only once released. */
export const eventTypes = [
  'space.created',
  'space.models_updated',
  'space.member_added',
  'space.response_completed',
  'space.response_incomplete',
  'space.response_failed',
  'space.response_cancelled',
  'space.response_deleted',
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
  'collection.created',
  'collection.deleted',
  'collection.documents_added',
  'collection.documents_deleted',
  'security.permission_denied',
  'security.principal_created',
  'security.role_assigned',
  'security.api_key_created',
  'security.api_key_revoked',
  'system.tenant_created',
  'system.model_added',
  'system.model_updated',
  'system.model_removed',
  'space.member_removed',
  'space.response_restarted',
  'collection.documents_retried',
  'system.tenant_suspended',
  'system.tenant_resumed',
] as const;

export type EventType = (typeof eventTypes)[number];
export type EventCategory = 'space' | 'collection' | 'security' | 'system';

export type ResourceType =
  | 'tenant'
  | 'space'
  | 'collection'
  | 'document'
  | 'response'
  | 'mcp_server'
  | 'role'
  | 'principal'
  | 'member'
  | 'api_key'
  | 'model';

export function categoryOf(type: EventType): EventCategory {
  return type.slice(0, type.indexOf('.')) as EventCategory;
}
