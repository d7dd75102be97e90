import { ApiKey } from '#domain/access/api-key.entity.ts';
import { RoleAssignment } from '#domain/access/role-assignment.entity.ts';
import { Role } from '#domain/access/role.entity.ts';
import { Collection } from '#domain/collections/collection.entity.ts';
import { Document } from '#domain/collections/document.entity.ts';
import { IdentityProvider } from '#domain/identity-providers/identity-provider.entity.ts';
import { Invite } from '#domain/invites/invite.entity.ts';
import { ModelPrice } from '#domain/models/model-price.entity.ts';
import { Model } from '#domain/models/model.entity.ts';
import { SpaceModel } from '#domain/models/space-model.entity.ts';
import { ObservabilityConfig } from '#domain/observability/observability-config.entity.ts';
import { Notification } from '#domain/notifications/notification.entity.ts';
import { Principal } from '#domain/principals/principal.entity.ts';
import { ProjectMember } from '#domain/projects/project-member.entity.ts';
import { Project } from '#domain/projects/project.entity.ts';
import { Item } from '#domain/responses/item.entity.ts';
import { Response } from '#domain/responses/response.entity.ts';
import { ToolCall } from '#domain/responses/tool-call.entity.ts';
import { TurnAttempt } from '#domain/responses/turn-attempt.entity.ts';
import { Turn } from '#domain/responses/turn.entity.ts';
import { UsageEntry } from '#domain/responses/usage-entry.entity.ts';
import { Session } from '#domain/sessions/session.entity.ts';
import { SkillVersion } from '#domain/skills/skill-version.entity.ts';
import { Skill } from '#domain/skills/skill.entity.ts';
import { SpaceMember } from '#domain/spaces/space-member.entity.ts';
import { Space } from '#domain/spaces/space.entity.ts';
import { Tenant } from '#domain/tenants/tenant.entity.ts';
import { Message } from '#domain/threads/message.entity.ts';
import { Thread } from '#domain/threads/thread.entity.ts';
import { McpServer } from '#domain/tools/mcp-server.entity.ts';
import { McpTool } from '#domain/tools/mcp-tool.entity.ts';

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
  Model,
  ModelPrice,
  SpaceModel,
  Collection,
  Document,
  McpServer,
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
];
