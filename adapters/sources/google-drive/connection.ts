import type { ProviderConnection } from '../provider.ts';
import { presetAt } from '../shared/authorization-preset.ts';
import type { GoogleDriveScope } from './scope.ts';

/** Google gives a refresh token only for offline access, and after the first consent only when it is asked again. */
export const googleDriveConnection: ProviderConnection<GoogleDriveScope> = {
  authorization: ({ api_url: url }) =>
    presetAt(url, 'https://www.googleapis.com', {
      issuer: 'https://accounts.google.com',
      authorizationUrl: 'https://accounts.google.com/o/oauth2/v2/auth',
      tokenUrl: 'https://oauth2.googleapis.com/token',
      revocationUrl: 'https://oauth2.googleapis.com/revoke',
      scope: 'https://www.googleapis.com/auth/drive.readonly',
      parameters: { access_type: 'offline', prompt: 'consent' },
      clientAuthentication: 'client_secret_post',
    }),
};
