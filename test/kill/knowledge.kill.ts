import { testKnowledge } from './knowledge-form.ts';
import { longKnowledge } from './knowledge-plan.ts';

testKnowledge('long', longKnowledge, 2_400_000);
