import base from '/work/h/sale/vitest.config.ts'
const c = base as any
c.test.execArgv = [...c.test.execArgv, '--cpu-prof', '--cpu-prof-dir=/tmp/prof']
c.test.maxWorkers = 1
c.root = '/work/h/sale'
export default c
