import { accessDefects } from './access-defects.ts';
import { boundsDefects } from './bounds-defects.ts';
import { callsDefects } from './calls-defects.ts';
import { clientsDefects } from './clients-defects.ts';
import { connectedServersDefects } from './connected-servers-defects.ts';
import { connectionsDefects } from './connections-defects.ts';
import { credentialsDefects } from './credentials-defects.ts';
import { deletionDefects } from './deletion-defects.ts';
import type { Defect } from './defect.ts';
import { durableDefects } from './durable-defects.ts';
import { engineDefects } from './engine-defects.ts';
import { erasureDefects } from './erasure-defects.ts';
import { scopeErasureDefects } from './scope-erasure-defects.ts';
import { knowledgeDefects } from './knowledge-defects.ts';
import { peopleDefects } from './people-defects.ts';
import { runDefects } from './run-defects.ts';
import { synchronisationDefects } from './synchronisation-defects.ts';
import { textDefects } from './text-defects.ts';
import { silenceDefects } from './silence-defects.ts';
import { toolsDefects } from './tools-defects.ts';
import { upkeepDefects } from './upkeep-defects.ts';
import { vectorSearchDefects } from './vector-search-defects.ts';

export const defects: readonly Defect[] = [
  ...accessDefects,
  ...boundsDefects,
  ...callsDefects,
  ...clientsDefects,
  ...connectedServersDefects,
  ...connectionsDefects,
  ...credentialsDefects,
  ...deletionDefects,
  ...durableDefects,
  ...engineDefects,
  ...erasureDefects,
  ...scopeErasureDefects,
  ...knowledgeDefects,
  ...peopleDefects,
  ...runDefects,
  ...synchronisationDefects,
  ...textDefects,
  ...silenceDefects,
  ...toolsDefects,
  ...upkeepDefects,
  ...vectorSearchDefects,
];
