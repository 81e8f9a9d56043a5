# One control daemon for each GPU, which its clients see as device 0.
start() {
  nvidia-smi -i "$1" -c EXCLUSIVE_PROCESS
  mkdir -p "/tmp/gpucost-mps-$1" "/var/log/gpucost-mps-$1"
  CUDA_VISIBLE_DEVICES="$1" CUDA_MPS_PIPE_DIRECTORY="/tmp/gpucost-mps-$1" \
    CUDA_MPS_LOG_DIRECTORY="/var/log/gpucost-mps-$1" nvidia-cuda-mps-control -d
}
