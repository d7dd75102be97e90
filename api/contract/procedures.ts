import { completeBody, initiateParams, initiateQuery, initiateSourceQuery } from './connections.ts';
import { z } from 'zod';
import { inviteStatuses } from '#domain/workspace/invites/invite-status.ts';
import { continuations, inputModalities, providerKinds } from '#domain/capabilities/models/model-gateway.ts';
import { responseStatuses } from '#domain/responses/record/response-status.ts';
import { memberRoles } from '#domain/workspace/members/member-roles.ts';
import { shownThreadStatuses } from '#domain/conversations/threads/thread-status.ts';
import * as embeddings from './embeddings.ts';
import * as reranking from './reranking.ts';
import * as access from './identity.ts';
import {
  createCredentialBody,
  credentialParams,
  spaceCredentialParams,
  updateCredentialBody,
} from './credentials.ts';
import {
  createConnectorBody,
  listConnectorsQuery,
  listSourceDocumentsQuery,
  requestSyncBody,
  updateConnectorBody,
} from './connectors.ts';
import { createCollectionBody, updateCollectionBody, uploadDocumentBody } from './knowledge.ts';
import { moment, usd, uuid } from './common.ts';
import { updateGovernanceBody } from './governance.ts';
import { registerServerBody, updateServerBody } from './tools.ts';
import { eventCategory } from './notifications.ts';
import * as membership from './workspace.ts';
import { maxGraceSeconds, reasonCode } from './tenant-deletion.ts';
import { searchBody } from './search.ts';
import { setObservabilityBody } from './observability.ts';
import { createSkillBody, draftVersionBody, editDraftBody, updateSkillBody } from './skills.ts';
import { addMessageBody, startThreadBody, updateThreadBody } from './threads.ts';

/** Inputs of the procedures: JSON, where the routes have text in paths and queries. */

const alias = z.string().min(1).max(128);
const responseId = z.string().min(1).max(100);
const workflowId = z.string().min(1).max(200);
/** For operators of the platform; other callers act in their own tenant. */
const tenantId = uuid.nullish();

const page = {
  limit: z.int().min(1).max(100).default(20),
  cursor: z.string().min(1).max(500).nullish(),
};

export const listInput = z.strictObject(page);
export const spaceInput = z.strictObject({ space_id: uuid });
export const spaceListInput = spaceInput.extend(page);
export const responseInput = z.strictObject({ response_id: responseId });
export const inputItemsInput = responseInput.extend(page);
export const listResponsesInput = spaceListInput.extend({ status: z.enum(responseStatuses).nullish() });
export const noInput = z.strictObject({});
export const notificationInput = z.strictObject({ notification_id: uuid });
export const listNotificationsInput = listInput.extend({
  category: eventCategory.nullish(),
  unread_only: z.boolean().default(false),
});
export const workflowInput = z.strictObject({ workflow_id: workflowId });
export const workflowHistoryInput = workflowInput.extend({ cursor: z.string().min(1).max(500).nullish() });

export const tenantInput = z.strictObject({ tenant_id: uuid });
export const createTenantInput = access.createTenantBody;
export const requestDeletionInput = tenantInput.extend({
  reason_code: reasonCode,
  grace_seconds: z.int().min(0).max(maxGraceSeconds).nullish(),
});
export const updateTenantInput = tenantInput.extend(access.updateTenantBody.shape);

export const createSpaceInput = membership.createSpaceBody;
export const updateSpaceInput = spaceInput.extend(membership.updateSpaceBody.shape);
export const setSpaceModelsInput = spaceInput.extend(membership.setSpaceModelsBody.shape);
/** A built-in role may be given by its key; `role_id` takes precedence. */
export const addMemberInput = spaceInput.extend({
  ...membership.addMemberBody.shape,
  role: z.enum(memberRoles).default('space_member'),
});
export const memberInput = membership.memberParams;
export const changeMemberRoleInput = memberInput.extend(membership.changeRoleBody.shape);
export const removeMemberInput = spaceInput.extend({ principal_id: uuid });

export const projectInput = membership.projectParams;
export const createProjectInput = spaceInput.extend(membership.createProjectBody.shape);
export const updateProjectInput = projectInput.extend(membership.updateProjectBody.shape);
export const projectListInput = projectInput.extend(page);
export const projectMemberInput = membership.projectMemberParams;
export const addProjectMemberInput = projectInput.extend(membership.addProjectMemberBody.shape);
export const changeProjectRoleInput = projectMemberInput.extend(membership.changeRoleBody.shape);

export const inviteInput = membership.inviteParams;
export const createInviteInput = spaceInput.extend(membership.createInviteBody.shape);
export const listInvitesInput = spaceListInput.extend({ status: z.enum(inviteStatuses).nullish() });

export const roleInput = access.roleParams;
export const createRoleInput = access.createRoleBody;
export const updateRoleInput = roleInput.extend(access.updateRoleBody.shape);
export const setPermissionsInput = roleInput.extend(access.setPermissionsBody.shape);

export const principalInput = access.principalParams;
export const createPrincipalInput = access.createPrincipalBody;
export const updatePrincipalInput = principalInput.extend(access.updatePrincipalBody.shape);
export const assignmentInput = access.assignmentParams;

export const createApiKeyInput = access.createApiKeyBody;
export const apiKeyInput = z.strictObject({ key_id: z.string().min(1).max(64) });

export const listThreadsInput = spaceListInput.extend({
  status: z.enum(shownThreadStatuses).nullish(),
  project_id: uuid.nullish(),
});
export const threadInput = spaceInput.extend({ thread_id: uuid });
export const startThreadInput = spaceInput.extend(startThreadBody.shape);
export const addMessageInput = threadInput.extend(addMessageBody.shape);
export const updateThreadInput = threadInput
  .extend(updateThreadBody.shape)
  .refine(({ title, status }) => title !== undefined || status !== undefined, 'must change something');
export const listMessagesInput = threadInput.extend({ branch_id: uuid.nullish(), ...page });
export const updateGovernanceInput = spaceInput.extend(updateGovernanceBody.shape);

export const collectionInput = spaceInput.extend({ collection_id: uuid });
export const createCollectionInput = spaceInput.extend(createCollectionBody.shape);
export const updateCollectionInput = collectionInput.extend(updateCollectionBody.shape);
export const uploadDocumentInput = collectionInput.extend(uploadDocumentBody.shape);
export const documentListInput = collectionInput.extend(page);
export const documentInput = collectionInput.extend({ document_id: uuid });
export const createConnectorInput = collectionInput.extend(createConnectorBody.shape);
export const listConnectorsInput = documentListInput.extend({
  status: listConnectorsQuery.shape.status.nullable(),
});
export const connectorInput = collectionInput.extend({ connector_id: uuid });
export const updateConnectorInput = connectorInput.extend(updateConnectorBody.shape);
export const initiateSourceConnectionInput = connectorInput.extend({
  redirect_uri: initiateSourceQuery.shape.redirect_uri.optional(),
});
export const deleteConnectorInput = connectorInput.extend({ retain_documents: z.boolean().default(false) });
export const requestSyncInput = connectorInput.extend(requestSyncBody.shape);
export const syncRunInput = connectorInput.extend({ sync_id: uuid });
export const listSyncRunsInput = connectorInput.extend(page);
export const listSourceDocumentsInput = listSyncRunsInput.extend({
  state: listSourceDocumentsQuery.shape.state.nullable(),
});
export const passageListInput = documentInput.extend(page);

export const searchInput = spaceInput.extend(searchBody.shape);

export const credentialInput = credentialParams;
export const createCredentialInput = createCredentialBody;
export const updateCredentialInput = credentialInput.extend(updateCredentialBody.shape);
export const spaceCredentialInput = spaceCredentialParams;
export const createSpaceCredentialInput = spaceInput.extend(createCredentialBody.shape);
export const updateSpaceCredentialInput = spaceCredentialInput.extend(updateCredentialBody.shape);

export const serverInput = spaceInput.extend({ server_id: uuid });
export const initiateConnectionInput = initiateParams.extend(initiateQuery.partial().shape);
export const completeConnectionInput = completeBody;
export const connectionListInput = serverInput.extend(page);
export const registerServerInput = spaceInput.extend(registerServerBody.shape);
export const updateServerInput = serverInput.extend(updateServerBody.shape);

export const skillInput = z.strictObject({ skill_id: uuid });
export const createSkillInput = createSkillBody;
export const updateSkillInput = skillInput.extend(updateSkillBody.shape);
export const versionListInput = skillInput.extend(page);
export const versionInput = skillInput.extend({ version_id: uuid });
export const draftVersionInput = skillInput.extend(draftVersionBody.shape);
export const editDraftInput = versionInput.extend(editDraftBody.shape);

export const setObservabilityInput = spaceInput.extend(setObservabilityBody.shape);

const price = z.strictObject({ input: usd, cached_input: usd.nullish(), output: usd });
const modelSettings = {
  base_url: z.string().max(500).nullish(),
  credential_ref: z.string().max(128).nullish(),
  credential_id: uuid.nullish(),
  continuation: z.enum(continuations).optional(),
  supports_reasoning: z.boolean().optional(),
  input_modalities: z.array(z.enum(inputModalities)).min(1).max(inputModalities.length).optional(),
  context_window: z.int().min(1).max(10_000_000).optional(),
  max_output_tokens: z.int().min(1).max(10_000_000).optional(),
};

export const modelInput = z.strictObject({ tenant_id: tenantId, alias });
export const listModelsInput = z.strictObject({ tenant_id: tenantId, ...page });
export const addModelInput = z.strictObject({
  alias,
  provider_kind: z.enum(providerKinds),
  provider_model: z.string().min(1).max(200),
  ...modelSettings,
  price,
});
export const updateModelInput = z.strictObject({ alias, ...modelSettings });
export const disableModelInput = z.strictObject({ alias, disabled: z.boolean().default(true) });
export const embeddingModelInput = embeddings.embeddingModelParams;
export const addEmbeddingModelInput = embeddings.addEmbeddingModelBody;
export const updateEmbeddingModelInput = embeddingModelInput.extend(
  embeddings.updateEmbeddingModelBody.shape,
);
export const changeSpaceEmbeddingInput = spaceInput.extend(embeddings.changeSpaceEmbeddingBody.shape);
export const embeddingUsageInput = spaceInput.extend({ days: embeddings.usageDays, ...page });
export const rerankingModelInput = reranking.rerankingModelParams;
export const addRerankingModelInput = reranking.addRerankingModelBody;
export const updateRerankingModelInput = rerankingModelInput.extend(reranking.updateRerankingModelBody.shape);
export const changeSpaceRerankingInput = spaceInput.extend(reranking.changeSpaceRerankingBody.shape);
export const rerankingUsageInput = spaceInput.extend({ days: embeddings.usageDays, ...page });
export const setPriceInput = z.strictObject({
  tenant_id: tenantId,
  alias,
  price,
  valid_from: moment.nullish(),
});
export const importPricesInput = z.strictObject({
  tenant_id: tenantId,
  document: z.record(z.string(), z.unknown()),
  dry_run: z.boolean().default(false),
});
