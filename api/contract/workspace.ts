import { z } from 'zod';
import { inviteStatuses } from '#domain/workspace/invites/invite-status.ts';
import { openAiTools } from '#domain/workspace/spaces/openai-tools.ts';
import { description, name } from './identity.ts';
import { data, page, pageQuery, spaceParams, timestamp, uuid } from './common.ts';

/** Spaces and their memberships: members, projects with their members, invites. */

export const createSpaceBody = z.strictObject({ name });
export const updateSpaceBody = z.strictObject({
  name: name.optional(),
  openai_tools: z
    .enum(openAiTools)
    .optional()
    .meta({
      description:
        'What a client of the OpenAI surface that names no tools is offered: `asked`, nothing, or `granted`, all that ' +
        'the space grants.',
    }),
});
const alias = z.string().min(1).max(128);
export const setSpaceModelsBody = z.strictObject({
  models: z.array(alias).min(1).max(100),
  default_model: alias.meta({ description: 'One of `models`.' }),
});

export const memberParams = spaceParams.extend({ member_id: uuid });
export const addMemberBody = z.strictObject({
  principal_id: uuid,
  role_id: uuid.optional().meta({ description: '`space_member` when left out.' }),
});
export const changeRoleBody = z.strictObject({ role_id: uuid });

export const projectParams = spaceParams.extend({ project_id: uuid });
export const createProjectBody = z.strictObject({ name, description: description.optional() });
export const updateProjectBody = z.strictObject({
  name: name.optional(),
  description: description.optional(),
});
export const projectRecord = z
  .strictObject({
    id: uuid,
    space_id: uuid,
    name: z.string(),
    description: z.string().nullable(),
    created_by: uuid,
    created_at: timestamp,
    updated_at: timestamp,
  })
  .meta({ id: 'Project' });
export const projectEnvelope = data(projectRecord);
export const projectPage = page(projectRecord);

export const projectMemberParams = projectParams.extend({ member_id: uuid });
export const addProjectMemberBody = z.strictObject({ principal_id: uuid, role_id: uuid });
export const projectMemberRecord = z
  .strictObject({
    id: uuid,
    project_id: uuid,
    principal_id: uuid,
    role_id: uuid,
    role: z.string(),
    created_at: timestamp,
  })
  .meta({ id: 'ProjectMember' });
export const projectMemberEnvelope = data(projectMemberRecord);
export const projectMemberPage = page(projectMemberRecord);

export const inviteParams = spaceParams.extend({ invite_id: uuid });
export const createInviteBody = z.strictObject({
  email: z
    .email()
    .max(320)
    .meta({ examples: ['ada@example.com'] }),
  role_id: uuid.optional().meta({ description: '`space_member` when left out.' }),
});
export const listInvitesQuery = z.strictObject({
  ...pageQuery,
  status: z.enum(inviteStatuses).optional(),
});
export const inviteRecord = z
  .strictObject({
    id: uuid,
    space_id: uuid,
    email: z.string().nullable().meta({ description: 'null when its principal was deleted since.' }),
    role_id: uuid.nullable().meta({ description: 'null when the role was deleted since.' }),
    role: z.string(),
    status: z.enum(inviteStatuses),
    invited_by: uuid,
    answered_by: uuid.nullable(),
    answered_at: timestamp.nullable(),
    expires_at: timestamp,
    created_at: timestamp,
  })
  .meta({ id: 'Invite' });
export const listOwnInvitesQuery = z.strictObject(pageQuery);
export const ownInviteRecord = z
  .strictObject({
    id: uuid,
    space_id: uuid,
    space_name: z.string(),
    role: z.string(),
    status: z.literal('pending'),
    expires_at: timestamp,
    created_at: timestamp,
  })
  .meta({ id: 'OwnInvite' });
export const ownInvitePage = page(ownInviteRecord);
export const inviteEnvelope = data(inviteRecord);
export const invitePage = page(inviteRecord);
