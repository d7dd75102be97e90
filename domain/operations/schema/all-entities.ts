import { AuthorizationAttempt } from '#domain/capabilities/connections/authorization-attempt.entity.ts';
import { AuthorizationClient } from '#domain/capabilities/connections/authorization-client.entity.ts';
import { Connection } from '#domain/capabilities/connections/connection.entity.ts';
import { ApiKey } from '#domain/identity/api-keys/api-key.entity.ts';
import { RoleAssignment } from '#domain/identity/roles/role-assignment.entity.ts';
import { Role } from '#domain/identity/roles/role.entity.ts';
import { Collection } from '#domain/knowledge/collections/collection.entity.ts';
import { Document } from '#domain/knowledge/collections/document.entity.ts';
import { Connector } from '#domain/knowledge/connectors/connector.entity.ts';
import { SourceDocument } from '#domain/knowledge/connectors/source-document.entity.ts';
import { SourceGroupMember } from '#domain/knowledge/synchronisation/source-group-member.entity.ts';
import { SourceHost } from '#domain/knowledge/synchronisation/source-host.entity.ts';
import { SyncRun } from '#domain/knowledge/connectors/sync-run.entity.ts';
import { EmbeddingGeneration } from '#domain/knowledge/embeddings/embedding-generation.entity.ts';
import { EmbeddingModel } from '#domain/knowledge/embeddings/embedding-model.entity.ts';
import { RerankingModel } from '#domain/knowledge/reranking/reranking-model.entity.ts';
import { SpaceReranking } from '#domain/knowledge/reranking/space-reranking.entity.ts';
import { IdentityProvider } from '#domain/identity/identity-providers/identity-provider.entity.ts';
import { Invite } from '#domain/workspace/invites/invite.entity.ts';
import { Credential } from '#domain/capabilities/credentials/credential.entity.ts';
import { ModelPrice } from '#domain/capabilities/models/model-price.entity.ts';
import { Model } from '#domain/capabilities/models/model.entity.ts';
import { SpaceModel } from '#domain/capabilities/models/space-model.entity.ts';
import { ObservabilityConfig } from '#domain/operations/observability/observability-config.entity.ts';
import { Notification } from '#domain/operations/notifications/notification.entity.ts';
import { Principal } from '#domain/identity/principals/principal.entity.ts';
import { ProjectMember } from '#domain/identity/roles/project-member.entity.ts';
import { Project } from '#domain/workspace/projects/project.entity.ts';
import { Item } from '#domain/responses/record/item.entity.ts';
import { Response } from '#domain/responses/record/response.entity.ts';
import { ToolCall } from '#domain/responses/record/tool-call.entity.ts';
import { TurnAttempt } from '#domain/responses/record/turn-attempt.entity.ts';
import { Turn } from '#domain/responses/record/turn.entity.ts';
import { UsageEntry } from '#domain/responses/record/usage-entry.entity.ts';
import { Session } from '#domain/identity/sessions/session.entity.ts';
import { SkillVersion } from '#domain/capabilities/skills/skill-version.entity.ts';
import { Skill } from '#domain/capabilities/skills/skill.entity.ts';
import { SpaceMember } from '#domain/identity/roles/space-member.entity.ts';
import { Space } from '#domain/workspace/spaces/space.entity.ts';
import { Tenant } from '#domain/workspace/tenants/tenant.entity.ts';
import { Message } from '#domain/conversations/messages/message.entity.ts';
import { Thread } from '#domain/conversations/threads/thread.entity.ts';
import { Erasure } from '#domain/foundation/erasures/erasure.entity.ts';
import { TenantDeletion } from '#domain/operations/tenant-deletion/tenant-deletion.entity.ts';
import { McpServer } from '#domain/capabilities/tools/mcp-server.entity.ts';
import { McpTool } from '#domain/capabilities/tools/mcp-tool.entity.ts';

export const allEntities = [
  Tenant,
  Principal,
  Role,
  RoleAssignment,
  ApiKey,
  IdentityProvider,
  Session,
  Space,
  SpaceMember,
  Project,
  ProjectMember,
  Invite,
  Credential,
  Model,
  ModelPrice,
  SpaceModel,
  Erasure,
  Collection,
  Document,
  Connector,
  SyncRun,
  SourceDocument,
  SourceGroupMember,
  SourceHost,
  EmbeddingGeneration,
  EmbeddingModel,
  RerankingModel,
  SpaceReranking,
  McpServer,
  Connection,
  AuthorizationAttempt,
  AuthorizationClient,
  McpTool,
  Thread,
  Message,
  Skill,
  SkillVersion,
  ObservabilityConfig,
  Response,
  Item,
  Turn,
  TurnAttempt,
  ToolCall,
  UsageEntry,
  Notification,
  TenantDeletion,
];
