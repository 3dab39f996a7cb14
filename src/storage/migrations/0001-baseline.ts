import type { Knex } from 'knex'
import { createCounters } from './baseline/counters-tables.ts'
import { createEvidence } from './baseline/evidence.ts'
import { createFigures } from './baseline/figures-tables.ts'
import { createJobs } from './baseline/jobs-tables.ts'
import { createMessages } from './baseline/messages-tables.ts'
import { createPasses } from './baseline/passes-tables.ts'
import { createScans } from './baseline/scans-tables.ts'
import { setStatistics } from './baseline/sqlite-statistics.ts'
import { createTemplates } from './baseline/templates-tables.ts'
import { createUsage } from './baseline/usage.ts'
import { createWallets } from './baseline/wallets-tables.ts'
import { createWebhooks } from './baseline/webhooks-tables.ts'
import { createWorkspaces } from './baseline/workspaces-tables.ts'

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
