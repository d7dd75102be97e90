import { z } from 'zod';
import { uuid } from './common.ts';
import { createProviderBody, linkIdentityBody, updateProviderBody } from './identity-providers.ts';
import { listInput, noInput } from './procedures.ts';

/** Inputs of the procedures about sign-in. */

export const listSessionsInput = listInput.extend({ principal_id: uuid.nullish() });
export const listOwnSessionsInput = listInput;
export const revokeSessionInput = z.strictObject({ session_id: uuid });
export const signOutInput = noInput;

export const listProvidersInput = listInput;
export const providerInput = z.strictObject({ identity_provider_id: uuid });
export const addProviderInput = createProviderBody;
export const updateProviderInput = providerInput.extend(updateProviderBody.shape);
export const linkIdentityInput = providerInput.extend(linkIdentityBody.shape);
