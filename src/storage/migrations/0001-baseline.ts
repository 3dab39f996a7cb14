import type { Knex } from 'knex'
import { createCounters } from './baseline/counters.ts'
import { createEvidence } from './baseline/evidence.ts'
import { createFigures } from './baseline/figures.ts'
import { createJobs } from './baseline/jobs.ts'
import { createMessages } from './baseline/messages.ts'
import { createPasses } from './baseline/passes.ts'
import { createScans } from './baseline/scans.ts'
import { setStatistics } from './baseline/sqlite-statistics.ts'
import { createTemplates } from './baseline/templates.ts'
import { createUsage } from './baseline/usage.ts'
import { createWallets } from './baseline/wallets.ts'
import { createWebhooks } from './baseline/webhooks.ts'
import { createWorkspaces } from './baseline/workspaces.ts'

/** Creates every table of version 0.3.0. SQL never asks the database for the time. */
export async function up(db: Knex): Promise<void> {
  await createWorkspaces(db)
  await createTemplates(db)
  await createPasses(db)
  await createWallets(db)
  await createScans(db)
  await createMessages(db)
  await createWebhooks(db)
  await createJobs(db)
  await createEvidence(db)
  await createUsage(db)
  await createCounters(db)
  await createFigures(db)
  await setStatistics(db)
}
