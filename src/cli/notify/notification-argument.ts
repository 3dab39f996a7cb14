import { idArg } from '../arguments/id-argument.ts'
import { passArgs } from '../arguments/pass-argument.ts'

export const notificationArgs = { ...passArgs, notification: idArg('notification') }
