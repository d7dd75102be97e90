import { testKnowledge } from './knowledge-form.ts';
import { shortKnowledge } from './knowledge-plan.ts';

testKnowledge('short', shortKnowledge, 300_000);
