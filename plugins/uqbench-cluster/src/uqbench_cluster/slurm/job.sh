#!/bin/bash
${asked}#SBATCH --array=0-${last}${most}
#SBATCH --signal=USR2@${signal}
#SBATCH --requeue
#SBATCH --open-mode=append
#SBATCH --output=${logs}/%A_%a.log
${options}orders=(
${orders})
${setup}
srun ${python} -P -m uqbench_cluster.node ${folder}/"$${orders[$$SLURM_ARRAY_TASK_ID]}.json" ${seconds}
code=$$?
# ${stopped}: it was asked to stop, and has written a last checkpoint
case $$code in ${again}) if [ "$${SLURM_RESTART_COUNT:-0}" -lt ${restarts} ]; then scontrol requeue "$$SLURM_JOB_ID"; fi;; esac
exit $$code
