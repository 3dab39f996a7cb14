import { openDatabase } from '../../../storage/db/database.ts'
import { createStore } from '../../../storage/store.ts'
import type { Config } from '../../config.ts'
import { databaseToMake } from '../operator.ts'
import { checkApple, type PushOptions } from './apple-checks.ts'
import type { Check } from './check.ts'
import { checkConfiguration, checkFiles, checkPublicUrl, checkServerKey } from './configuration.ts'
import { checkDatabase } from './database-checks.ts'
import { checkGoogle, type GoogleOptions } from './google-checks.ts'
import { checkIdentities, checkPauses } from './identity-checks.ts'
import { checkMail } from './mail-checks.ts'
import { checkSignIn } from './sign-in-checks.ts'
import { checkWork } from './work.ts'

export interface DoctorOptions {
  config: Config
  clock?: () => Date
  /** The servers of the platforms, which tests replace. */
  apns?: PushOptions
  google?: Pick<GoogleOptions, 'endpoints'>
  /** Whether to create a class at Google, to check that Google accepts one. Google never deletes classes. */
  canWrite?: boolean
  /** Whether to recount all rows and correct the stored counts of lists and figures. */
  canRecount?: boolean
}

export async function diagnose(options: DoctorOptions): Promise<Check[]> {
  const { config, clock = () => new Date(), apns, google, canWrite = false, canRecount = false } = options
  const database = databaseToMake(config.databaseUrl) ? undefined : openDatabase(config.databaseUrl)
  try {
    const publicUrl = await checkPublicUrl(config, clock)
    const { checks, isCurrent } = await checkDatabase({ config, database, clock, httpSkew: publicUrl.skew, canRecount })
    const store = isCurrent && database ? createStore(database) : undefined
    return [
      ...(await checkConfiguration(config)),
      ...checks,
      ...(await checkServerKey(config, store)),
      ...(await checkFiles(config)),
      ...(await checkApple(config, clock(), apns)),
      ...(await checkGoogle(config, { ...google, store, canWrite, clock })),
      ...(await checkIdentities(config, store, clock())),
      ...(await checkPauses(config)),
      ...publicUrl.checks,
      ...(await checkSignIn(config, { store, clock })),
      ...(await checkMail(config)),
      ...(await checkWork(store, clock())),
    ]
  } finally {
    await database?.close()
  }
}
